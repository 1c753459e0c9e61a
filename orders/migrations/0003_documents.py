"""A mail at the checkout of a guest."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0002_one_kind_of_refund")]

    operations = [
        migrations.AlterField(
            model_name="mail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("placed", "order received"),
                    ("paid", "confirmation"),
                    ("shipped", "shipped"),
                    ("expired", "expiry"),
                    ("refunded", "refund"),
                    ("link", "link to a guest's order"),
                ],
                max_length=10,
                verbose_name="kind",
            ),
        ),
    ]
