"""Notes about orders with their authors, and the queue of those who pack. The index is built beside the writes."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0013_rehearsal"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="OrderNote",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name="note")),
                ("text", models.TextField(verbose_name="note")),
                ("made_at", models.DateTimeField(auto_now_add=True, verbose_name="made at")),
                ("made_by", models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL, verbose_name="made by")),
                ("order", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="notes", to="orders.order", verbose_name="order")),
            ],
            options={
                "verbose_name": "note of the staff",
                "verbose_name_plural": "notes of the staff",
                "ordering": ["-made_at"],
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="OrderToPack",
            fields=[],
            options={
                "verbose_name": "order to pack",
                "verbose_name_plural": "orders to pack",
                "ordering": ["ended_at", "pk"],
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("orders.order",),
        ),
        AddIndexConcurrently(
            model_name="order",
            index=models.Index(
                condition=models.Q(("status", "paid")), fields=["ended_at", "id"], name="orders_order_to_pack"
            ),
        ),
    ]
