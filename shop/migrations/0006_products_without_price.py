from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("shop", "0005_variants_and_languages")]

    operations = [
        # So that going back finds a value for the price of a product that was made since.
        migrations.AlterField("product", "price_minor", models.PositiveBigIntegerField(default=1)),
        migrations.RemoveConstraint(
            model_name='product',
            name='shop_product_price_positive',
        ),
        migrations.RemoveField(
            model_name='category',
            name='name_zh',
        ),
        migrations.RemoveField(
            model_name='product',
            name='description_zh',
        ),
        migrations.RemoveField(
            model_name='product',
            name='name_zh',
        ),
        migrations.RemoveField(
            model_name='product',
            name='price_minor',
        ),
        migrations.RemoveField(
            model_name='product',
            name='stock',
        ),
    ]
