"""Two tables for draws. They are new, so nothing waits for a lock."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("seckill", "0008_guards"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Draw',
            fields=[
                ('sale', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='draw', serialize=False, to='seckill.sale')),
                ('seed', models.CharField(max_length=64)),
                ('closed_at', models.DateTimeField(null=True)),
                ('entries_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('units', models.JSONField(default=dict)),
                ('drawn_at', models.DateTimeField(null=True)),
                ('file', models.TextField(blank=True, default='')),
            ],
        ),
        migrations.CreateModel(
            name='DrawEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('units', models.PositiveIntegerField()),
                ('entry_id', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('reservation_id', models.UUIDField(unique=True)),
                ('entered_at', models.DateTimeField(auto_now_add=True)),
                ('status', models.CharField(choices=[('entered', 'entered'), ('won', 'won'), ('not_won', 'not won'), ('passed_on', 'passed on')], default='entered', max_length=10)),
                ('place', models.PositiveIntegerField(null=True)),
                ('won_at_draw', models.BooleanField(null=True)),
                ('reserved_at', models.DateTimeField(null=True)),
                ('told_at', models.DateTimeField(null=True)),
                ('buyer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='draw_entries', to='seckill.saleitem')),
            ],
            options={
                'indexes': [models.Index(fields=['item', 'status', 'place'], name='seckill_drawentry_in_order'), models.Index(condition=models.Q(('told_at', None)), fields=['status', 'item'], name='seckill_drawentry_untold')],
                'constraints': [models.UniqueConstraint(fields=('item', 'buyer'), name='seckill_drawentry_once'), models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='seckill_drawentry_units_positive')],
            },
        ),
        migrations.AlterField(model_name='sale', name='admission', field=models.CharField(choices=[('first_come', 'first come, first served'), ('waiting_room', 'waiting room'), ('draw', 'draw')], db_default='first_come', default='first_come', help_text='In a waiting room, people who come before the opening get a random place, later ones the next. In a draw, people enter until the opening, and the winners have the seconds to pay: choose some hours.', max_length=20, verbose_name='admission')),
        migrations.AlterField(model_name='historicalsale', name='admission', field=models.CharField(choices=[('first_come', 'first come, first served'), ('waiting_room', 'waiting room'), ('draw', 'draw')], db_default='first_come', default='first_come', help_text='In a waiting room, people who come before the opening get a random place, later ones the next. In a draw, people enter until the opening, and the winners have the seconds to pay: choose some hours.', max_length=20, verbose_name='admission')),
        migrations.AlterField(
            model_name='salechange',
            name='kind',
            field=models.CharField(choices=[('add_units', 'add units'), ('withdraw_units', 'withdraw units'), ('pause', 'pause'), ('resume', 'resume'), ('move_end', 'move the closing time'), ('end_now', 'end now'), ('units_per_buyer', 'units per buyer'), ('pause_item', 'pause the item'), ('resume_item', 'resume the item'), ('return_unsold', 'unsold units back to the stock'), ('pace', 'pace of the waiting room'), ('draw', 'draw')], max_length=20, verbose_name='change'),
        ),
    ]
