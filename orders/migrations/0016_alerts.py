"""Tables for alerts that are on and for their messages. They are new, so nothing waits for a lock."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0015_approvals"),
    ]

    operations = [
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('sold_out', 'sold out'), ('lag', 'orders are late'), ('difference', 'difference found'), ('refund_failed', 'refund failed'), ('not_ready', 'sale not ready')], max_length=20)),
                ('subject', models.CharField(max_length=100)),
                ('title', models.CharField(max_length=500)),
                ('began_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'alert',
                'verbose_name_plural': 'alerts',
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('kind', 'subject'), name='orders_alert_once')],
            },
        ),
        migrations.CreateModel(
            name='AlertMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(choices=[('mail', 'mail'), ('webhook', 'webhook')], max_length=10)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_attempt_at', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=100)),
            ],
            options={
                'verbose_name': 'message of an alert',
                'verbose_name_plural': 'messages of alerts',
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['channel', 'next_attempt_at'], name='orders_alert_unsent')],
            },
        ),
    ]
