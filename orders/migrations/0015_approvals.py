"""A table for changes that a second person approves. It is new, so nothing waits for a lock."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("orders", "0014_notes_and_packing"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ApprovalRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('refund', 'refund'), ('add_units', 'add units'), ('publish', 'publish')], max_length=10, verbose_name='change')),
                ('subject_id', models.BigIntegerField()),
                ('subject', models.CharField(max_length=300, verbose_name='of')),
                ('details', models.JSONField(default=dict)),
                ('reason', models.CharField(blank=True, max_length=300, verbose_name='reason')),
                ('status', models.CharField(choices=[('waiting', 'waiting'), ('approved', 'approved, being carried out'), ('done', 'carried out'), ('refused', 'approved, but no longer possible'), ('declined', 'declined'), ('expired', 'expired')], default='waiting', max_length=10, verbose_name='status')),
                ('asked_at', models.DateTimeField(auto_now_add=True, verbose_name='asked at')),
                ('expires_at', models.DateTimeField(verbose_name='expires at')),
                ('decided_at', models.DateTimeField(null=True, verbose_name='decided at')),
                ('decision_reason', models.CharField(blank=True, max_length=300, verbose_name='reason of the decision')),
                ('outcome', models.CharField(blank=True, max_length=500, verbose_name='outcome')),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='asked by')),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='decided by')),
            ],
            options={
                'verbose_name': 'request for approval',
                'verbose_name_plural': 'requests for approval',
                'ordering': ['-asked_at'],
                'default_permissions': (),
                'constraints': [models.CheckConstraint(condition=models.Q(('decided_by', None), models.Q(('decided_by', models.F('asked_by')), _negated=True), _connector='OR'), name='orders_approval_by_another_person'), models.UniqueConstraint(condition=models.Q(('status__in', ('waiting', 'approved'))), fields=('kind', 'subject_id'), name='orders_approval_one_at_a_time')],
            },
        ),
    ]
