"""The largest quantity of a product in one order; no number for those that are there."""
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('shop', '0007_district'),
    ]

    operations = [
        migrations.AddField(
            model_name='historicalproduct',
            name='order_units_max',
            field=models.PositiveIntegerField(blank=True, help_text="Of all its variants together, at the ordinary price. Empty: the shop's usual number for each.", null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='most units in one order'),
        ),
        migrations.AddField(
            model_name='product',
            name='order_units_max',
            field=models.PositiveIntegerField(blank=True, help_text="Of all its variants together, at the ordinary price. Empty: the shop's usual number for each.", null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='most units in one order'),
        ),
    ]
