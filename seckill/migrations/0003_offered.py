"""Units that went back to the stock are counted at their item, so that an ended sale can say how many it had."""

from typing import Any

import django.core.validators
from django.db import migrations, models
from django.db.models import Max, Sum


def count_returned(apps: Any, schema_editor: Any) -> None:
    """From the journal: since the sale was last opened again. A shop has few items, and each update locks one row."""
    SaleChange = apps.get_model("seckill", "SaleChange")
    SaleItem = apps.get_model("seckill", "SaleItem")
    kept = SaleChange.objects.exclude(status="refused")
    returned = kept.filter(kind="return_unsold")
    for item_id in list(returned.order_by("item_id").values_list("item_id", flat=True).distinct()):
        reopened = kept.filter(item_id=item_id, kind="move_end").aggregate(last=Max("pk", default=0))["last"]
        units = returned.filter(item_id=item_id, pk__gt=reopened).aggregate(units=Sum("units", default=0))["units"]
        SaleItem.objects.filter(pk=item_id).update(returned=units)


class Migration(migrations.Migration):
    dependencies = [
        ("seckill", "0002_saleitem_incarnation"),
    ]

    # Each item is updated on its own: no lock lasts longer than one of them.
    atomic = False

    operations = [
        migrations.AddField(
            model_name="saleitem",
            name="returned",
            field=models.PositiveIntegerField(
                db_default=0, default=0, editable=False, verbose_name="unsold units returned"
            ),
        ),
        migrations.RunPython(count_returned, migrations.RunPython.noop, elidable=True),
        migrations.AlterField(
            model_name="historicalsaleitem",
            name="quantity",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Units on sale.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1, "Enter at least one unit."),
                    django.core.validators.MaxValueValidator(100000000),
                ],
                verbose_name="quantity",
            ),
        ),
        migrations.AlterField(
            model_name="saleitem",
            name="quantity",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Units on sale.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1, "Enter at least one unit."),
                    django.core.validators.MaxValueValidator(100000000),
                ],
                verbose_name="quantity",
            ),
        ),
    ]
