"""The company's messages name the order, as those of Stripe do."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("simulated_payments", "0001_squashed")]

    operations = [
        migrations.AddField(
            model_name="simulatedsession",
            name="order_number",
            field=models.UUIDField(null=True),
        ),
    ]
