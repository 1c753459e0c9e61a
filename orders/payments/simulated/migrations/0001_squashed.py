"""All tables of the app, in one step. Databases that the replaced migrations made have them already."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('simulated_payments', '0001_initial'),
        ('simulated_payments', '0002_cancel_url'),
        ('simulated_payments', '0003_refunds_of_parts'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='SimulatedSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.CharField(max_length=64, unique=True)),
                ('payment_id', models.UUIDField(unique=True)),
                ('reservation_id', models.UUIDField(null=True)),
                ('amount_minor', models.PositiveBigIntegerField()),
                ('currency', models.CharField(max_length=3)),
                ('return_url', models.CharField(max_length=500)),
                ('cancel_url', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('status', models.CharField(choices=[('open', 'Open'), ('processing', 'Processing'), ('captured', 'Captured'), ('declined', 'Declined'), ('expired', 'Expired'), ('refunded', 'Refunded')], default='open', max_length=20)),
                ('delivery', models.CharField(choices=[('once', 'Once'), ('twice', 'Twice'), ('late', 'Late'), ('early', 'Early'), ('out_of_order', 'Out Of Order')], default='once', max_length=20)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('captures_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', 'processing')), fields=['captures_at'], name='orders_simulated_to_capture')],
            },
        ),
        migrations.CreateModel(
            name='SimulatedRefund',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('refund_id', models.UUIDField(unique=True)),
                ('amount_minor', models.PositiveBigIntegerField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refunds', to='simulated_payments.simulatedsession')),
            ],
        ),
        migrations.CreateModel(
            name='SimulatedMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.CharField(max_length=64)),
                ('body', models.TextField()),
                ('deliver_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=500)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='simulated_payments.simulatedsession')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('delivered_at', None)), fields=['deliver_at'], name='orders_simulated_to_deliver')],
            },
        ),
    ]
