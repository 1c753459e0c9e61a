"""The newest orders first, and the events of a payment, without reading the whole table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0007_payment_request")]

    operations = [
        migrations.AddIndex(
            model_name="order", index=models.Index(fields=["-created_at", "-id"], name="orders_order_newest")
        ),
        migrations.AddIndex(
            model_name="paymentevent", index=models.Index(fields=["payment_id"], name="orders_paymentevent_payment")
        ),
    ]
