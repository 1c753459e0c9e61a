import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("seckill", "0007_items_of_variants")]

    operations = [
        migrations.AlterField(
            model_name='saleitem',
            name='variant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sale_items', to='shop.variant', verbose_name='product'),
        ),
        migrations.RemoveConstraint(
            model_name='saleitem',
            name='seckill_saleitem_product_once',
        ),
        migrations.RemoveConstraint(
            model_name='saleitem',
            name='seckill_saleitem_quantity_positive',
        ),
        migrations.RemoveField(
            model_name='sale',
            name='name_zh',
        ),
        migrations.RemoveField(
            model_name='saleitem',
            name='product',
        ),
        migrations.AddConstraint(
            model_name='saleitem',
            constraint=models.UniqueConstraint(fields=('sale', 'variant'), name='seckill_saleitem_variant_once', violation_error_message='This product is already in the sale.'),
        ),
        migrations.AddConstraint(
            model_name='saleitem',
            constraint=models.CheckConstraint(condition=models.Q(('quantity__gte', 0)), name='seckill_saleitem_quantity_not_negative'),
        ),
    ]
