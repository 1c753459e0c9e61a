"""Payments that staff recorded become rows; indexes for refunds that staff have to pay, and for what staff search.

Payments that were recorded before are read from the history of their orders. Refunds without a payment stay refunded.
"""

import re
from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Upper


BATCH_MAX = 1_000

# In the words of both languages: "Payment recorded: 19.00 CNY, reference “TX-1”."
RECORDED = re.compile(r"(?:Payment recorded: |已登记收款：).*?[“](?P<reference>.*)[”]", re.DOTALL)


def rows_of_before(apps: Any, schema_editor: Any) -> None:
    """Entries of the history, some at a time. A second run changes nothing."""
    Recorded, Order = apps.get_model("orders", "RecordedPayment"), apps.get_model("orders", "Order")
    entries = apps.get_model("admin", "LogEntry").objects.filter(
        content_type__app_label="orders", content_type__model="order", change_message__regex="^(Payment recorded|已登记收款)"
    )
    last = 0
    while batch := list(entries.filter(pk__gt=last).order_by("pk")[:BATCH_MAX]):
        last = batch[-1].pk
        orders = Order.objects.in_bulk([int(entry.object_id) for entry in batch if entry.object_id])
        found = [
            (orders[int(entry.object_id)], entry, match["reference"])
            for entry in batch
            if (match := RECORDED.search(entry.change_message)) and int(entry.object_id) in orders
        ]
        made = [
            Recorded(
                order=order,
                amount_minor=order.amount_minor,
                currency=order.currency,
                reference=reference[:100],
                made_by_id=entry.user_id,
            )
            for order, entry, reference in found
        ]
        times = {order.pk: entry.action_time for order, entry, _reference in found}
        Recorded.objects.bulk_create(made, ignore_conflicts=True)
        for order_id, recorded_at in times.items():
            Recorded.objects.filter(pk=order_id).update(recorded_at=recorded_at)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("orders", "0007_mail_about_tracking"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # A label.
        migrations.AlterField(
            model_name="shippingaddress",
            name="name",
            field=models.CharField(max_length=100, verbose_name="recipient"),
        ),
        migrations.CreateModel(
            name="RecordedPayment",
            fields=[
                (
                    "order",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="recorded_payment",
                        serialize=False,
                        to="orders.order",
                        verbose_name="order",
                    ),
                ),
                ("amount_minor", models.PositiveBigIntegerField(verbose_name="amount in minor units")),
                ("currency", models.CharField(max_length=3, verbose_name="currency")),
                ("reference", models.CharField(max_length=100, verbose_name="reference")),
                ("recorded_at", models.DateTimeField(auto_now_add=True, verbose_name="recorded at")),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="made by",
                    ),
                ),
            ],
            options={
                "verbose_name": "payment that staff recorded",
                "verbose_name_plural": "payments that staff recorded",
            },
        ),
        migrations.RunPython(rows_of_before, migrations.RunPython.noop, atomic=False),
        AddIndexConcurrently(
            model_name="refund",
            index=models.Index(
                condition=models.Q(("payment", None), ("status", "due")),
                fields=["order"],
                name="orders_refund_by_hand",
            ),
        ),
        AddIndexConcurrently(
            model_name="order",
            index=GinIndex(
                OpClass(Upper("email"), name="gin_trgm_ops"),
                condition=models.Q(("buyer", None)),
                name="orders_order_guest_parts",
            ),
        ),
        AddIndexConcurrently(
            model_name="order",
            index=GinIndex(
                OpClass(
                    models.Func(
                        Upper("tracking_number"),
                        models.Value("[^A-Z0-9]"),
                        models.Value(""),
                        models.Value("g"),
                        function="regexp_replace",
                    ),
                    name="gin_trgm_ops",
                ),
                condition=models.Q(("tracking_number", ""), _negated=True),
                name="orders_order_tracking_parts",
            ),
        ),
        AddIndexConcurrently(
            model_name="recordedpayment",
            index=GinIndex(OpClass(Upper("reference"), name="gin_trgm_ops"), name="orders_recorded_reference"),
        ),
        AddIndexConcurrently(
            model_name="shippingaddress",
            index=GinIndex(OpClass(Upper("name"), name="gin_trgm_ops"), name="orders_address_name_parts"),
        ),
        AddIndexConcurrently(
            model_name="shippingaddress",
            index=GinIndex(
                OpClass(
                    models.Func(
                        models.F("phone"),
                        models.Value("\\D"),
                        models.Value(""),
                        models.Value("g"),
                        function="regexp_replace",
                    ),
                    name="gin_trgm_ops",
                ),
                name="orders_address_phone_parts",
            ),
        ),
    ]
