"""The server of the reservation store whose reservations become orders. Instant: the default is a constant."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("seckill", "0001_squashed")]

    operations = [
        migrations.AddField(
            model_name="saleitem",
            name="incarnation",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                max_length=64,
                verbose_name="server of the reservation store",
            ),
        ),
    ]
