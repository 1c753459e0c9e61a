"""A table for the choice of staff how many replicas a yes waits for. It is new, so nothing waits for a lock."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('seckill', '0003_offered'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ReplicaChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('replicas', models.PositiveSmallIntegerField(blank=True, help_text='Empty: as many as SECKILL_YES_REPLICAS says.', null=True, verbose_name='replicas that a yes waits for')),
                ('reason', models.CharField(max_length=300, verbose_name='reason')),
                ('made_at', models.DateTimeField(auto_now_add=True, verbose_name='made at')),
                ('made_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='made by')),
            ],
            options={
                'verbose_name': 'choice of replicas',
                'verbose_name_plural': 'choices of replicas',
                'ordering': ['-pk'],
                'default_permissions': ('add', 'view'),
            },
        ),
    ]
