"""Marks of mailbox and network on orders of guests, and an index of those that are not paid.

The index is built while orders are placed. Orders that are unpaid now have no marks, and expire within half an hour.
"""

import django.contrib.postgres.operations
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("orders", "0005_paymentevent_order_number"),
    ]

    operations = [
        migrations.AddField(
            model_name="order",
            name="guest_mailbox",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=16),
        ),
        migrations.AddField(
            model_name="order",
            name="guest_network",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=16),
        ),
        django.contrib.postgres.operations.AddIndexConcurrently(
            model_name="order",
            index=models.Index(
                condition=models.Q(("buyer", None), ("status", "awaiting_payment")),
                fields=["guest_network"],
                name="orders_order_unpaid_guests",
            ),
        ),
    ]
