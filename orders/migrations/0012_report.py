"""Sums of a sale's report that are kept."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0011_ship_permission"), ("seckill", "0004_choice_of_replicas")]

    operations = [
        migrations.CreateModel(
            name="KeptReport",
            fields=[
                (
                    "sale",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="kept_report",
                        serialize=False,
                        to="seckill.sale",
                        verbose_name="sale",
                    ),
                ),
                ("closes_at", models.DateTimeField(verbose_name="closes at")),
                ("made_at", models.DateTimeField(verbose_name="made at")),
                ("sums", models.JSONField(verbose_name="sums")),
            ],
            options={
                "verbose_name": "kept report of a sale",
                "verbose_name_plural": "kept reports of sales",
            },
        ),
    ]
