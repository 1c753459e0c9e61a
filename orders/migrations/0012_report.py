"""For the report of a sale: sums that are kept, and times in which the reservation store was compared."""

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
        migrations.CreateModel(
            name="StoreRepair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("began_at", models.DateTimeField(verbose_name="began at")),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended at")),
                ("differed", models.BooleanField(default=False, verbose_name="differed")),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="store_repairs",
                        to="seckill.saleitem",
                        verbose_name="sale item",
                    ),
                ),
            ],
            options={
                "verbose_name": "comparison of the reservation store",
                "verbose_name_plural": "comparisons of the reservation store",
                "ordering": ["pk"],
            },
        ),
    ]
