"""Mails of the waiting list: one kind more, and a table, which is new, so nothing waits for a lock."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0017_receipt"),
        ('seckill', '0006_waiting_list'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='mail',
            name='kind',
            field=models.CharField(choices=[('placed', 'order received'), ('paid', 'confirmation'), ('shipped', 'shipped'), ('tracking', 'tracking number'), ('expired', 'expiry'), ('refunded', 'refund'), ('link', "link to a guest's order"), ('from_line', 'units from the waiting list')], max_length=10, verbose_name='kind'),
        ),
        migrations.CreateModel(
            name='LineMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('sent_at', models.DateTimeField(blank=True, null=True, verbose_name='sent at')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(blank=True, null=True, verbose_name='next attempt at')),
                ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
                ('buyer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='line_mails', to=settings.AUTH_USER_MODEL, verbose_name='buyer')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='line_mails', to='seckill.saleitem', verbose_name='sale item')),
            ],
            options={
                'verbose_name': 'mail to a waiting list',
                'verbose_name_plural': 'mails to waiting lists',
                'ordering': ['-pk'],
                'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['next_attempt_at'], name='orders_linemail_unsent')],
                'constraints': [models.UniqueConstraint(fields=('item', 'buyer'), name='orders_linemail_once')],
            },
        ),
    ]
