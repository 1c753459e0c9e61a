"""A table for rehearsals of sales. It is new, so nothing waits for a lock."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0012_report"),
        ('seckill', '0004_choice_of_replicas'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Rehearsal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('running', 'Running'), ('done', 'Done'), ('broken', 'Broken')], default='running', max_length=10)),
                ('stage', models.CharField(choices=[('preparing', 'preparing'), ('rush', 'buyers ask'), ('orders', 'orders are written'), ('returns', 'unpaid units come back'), ('late', 'late buyers ask')], default='preparing', max_length=10)),
                ('buyers', models.PositiveIntegerField()),
                ('items', models.JSONField(default=list)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('pulse_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('written_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('cleared_at', models.DateTimeField(null=True)),
                ('figures', models.JSONField(default=dict)),
                ('problem', models.JSONField(default=dict)),
                ('report', models.JSONField(null=True)),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sale', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rehearsals', to='seckill.sale')),
            ],
            options={
                'verbose_name': 'rehearsal',
                'verbose_name_plural': 'rehearsals',
                'ordering': ['-pk'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(condition=models.Q(('status', 'running')), fields=('status',), name='orders_rehearsal_one_at_a_time')],
            },
        ),
    ]
