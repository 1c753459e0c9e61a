import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0009_mails_by_kind"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="orderline",
            index=models.Index(fields=["sale_item", "order"], name="orders_orderline_of_item"),
        ),
        # The index above begins with the item, so the one of the item alone is not needed.
        migrations.AlterField(
            model_name="orderline",
            name="sale_item",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="order_lines",
                to="seckill.saleitem",
                verbose_name="sale item",
            ),
        ),
    ]
