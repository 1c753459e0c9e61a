"""The refund that an event is about, where its amount is the sum of all refunds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0009_district")]

    operations = [
        migrations.AddField(
            model_name="paymentevent",
            name="part_minor",
            field=models.PositiveBigIntegerField(
                blank=True, null=True, verbose_name="of it this refund, in minor units"
            ),
        ),
    ]
