"""The district of an address (区县). Addresses that are there have none."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0008_money_by_staff"),
    ]

    operations = [
        migrations.AddField(
            model_name="shippingaddress",
            name="district",
            field=models.CharField(blank=True, db_default="", default="", max_length=100, verbose_name="district"),
        ),
    ]
