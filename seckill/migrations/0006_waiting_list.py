"""Which sales have a waiting list, and when an item's line ended. Additive, with a default in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("seckill", "0005_pauses"),
    ]

    operations = [
        migrations.AddField(
            model_name='sale',
            name='waiting_list',
            field=models.BooleanField(db_default=False, default=False, help_text='Buyers who come too late can wait. Units that come back go to the first in line.', verbose_name='waiting list'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='waiting_list',
            field=models.BooleanField(db_default=False, default=False, help_text='Buyers who come too late can wait. Units that come back go to the first in line.', verbose_name='waiting list'),
        ),
        migrations.AddField(
            model_name='saleitem',
            name='line_ended_at',
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name='waiting list ended at'),
        ),
    ]
