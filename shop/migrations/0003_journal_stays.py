"""The journal of the stock protects its variants. Nothing changes in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("shop", "0002_knox_table"),
    ]

    operations = [
        migrations.AlterField(
            model_name="stockchange",
            name="variant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.PROTECT,
                related_name="stock_changes",
                to="shop.variant",
                verbose_name="variant",
            ),
        ),
    ]
