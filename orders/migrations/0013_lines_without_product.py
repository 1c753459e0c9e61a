import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("orders", "0012_lines_of_variants")]

    operations = [
        migrations.AlterField(
            model_name='orderline',
            name='variant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='order_lines', to='shop.variant', verbose_name='product'),
        ),
        migrations.RemoveConstraint(
            model_name='orderline',
            name='orders_orderline_product_once',
        ),
        migrations.RemoveField(
            model_name='orderline',
            name='product',
        ),
        migrations.AddConstraint(
            model_name='orderline',
            constraint=models.UniqueConstraint(fields=('order', 'variant'), name='orders_orderline_variant_once'),
        ),
    ]
