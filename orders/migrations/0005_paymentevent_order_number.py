"""The order that the provider was told with a payment: a lost payment of an ordinary order is found by it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0004_rows_of_before")]

    operations = [
        migrations.AddField(
            model_name="paymentevent",
            name="order_number",
            field=models.UUIDField(blank=True, null=True, verbose_name="order"),
        ),
    ]
