"""The right to ship orders without the right to refund them. Changes no table."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("orders", "0010_paymentevent_part")]

    operations = [
        migrations.AlterModelOptions(
            name="order",
            options={
                "ordering": ["-created_at", "-pk"],
                "permissions": [("ship_order", "Can ship order")],
                "verbose_name": "order",
                "verbose_name_plural": "orders",
            },
        ),
    ]
