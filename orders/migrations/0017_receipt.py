"""A table for receipts of lost reservations. It is new, so nothing waits for a lock."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('orders', '0016_alerts'),
        ('seckill', '0004_choice_of_replicas'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RefusedReceipt',
            fields=[
                ('reservation_id', models.UUIDField(primary_key=True, serialize=False, verbose_name='reservation')),
                ('units', models.PositiveIntegerField(verbose_name='units')),
                ('price_minor', models.PositiveBigIntegerField(verbose_name='price in minor units')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('deadline', models.DateTimeField(verbose_name='to be paid by')),
                ('reason', models.CharField(choices=[('units_gone', 'its units were sold to others meanwhile'), ('sale_over', 'the sale is long over'), ('price_differs', 'the price of the item is not that of the receipt')], max_length=20, verbose_name='reason')),
                ('refused_at', models.DateTimeField(auto_now_add=True, verbose_name='refused at')),
                ('done_at', models.DateTimeField(null=True, verbose_name='dealt with at')),
                ('buyer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refused_receipts', to=settings.AUTH_USER_MODEL, verbose_name='buyer')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='seckill.saleitem', verbose_name='sale item')),
            ],
            options={
                'verbose_name': 'receipt of a lost reservation',
                'verbose_name_plural': 'receipts of lost reservations',
                'ordering': ['refused_at', 'pk'],
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('done_at', None)), fields=['refused_at'], name='orders_refused_open')],
            },
        ),
    ]
