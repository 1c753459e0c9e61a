import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("seckill", "0006_waiting_list"),
    ]

    operations = [
        migrations.CreateModel(
            name='WaitingRoom',
            fields=[
                ('sale', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='waiting_room', serialize=False, to='seckill.sale')),
                ('key', models.CharField(max_length=64)),
                ('arrivals', models.PositiveIntegerField(default=0)),
                ('early', models.PositiveIntegerField(null=True)),
                ('called', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='admission',
            field=models.CharField(choices=[('first_come', 'first come, first served'), ('waiting_room', 'waiting room')], db_default='first_come', default='first_come', help_text='In a waiting room, people who come before the opening get a random place, later ones the next.', max_length=20, verbose_name='admission'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='pace',
            field=models.PositiveIntegerField(blank=True, help_text='How many are let in from the waiting room. Empty: as many as orders and payments can take.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100000000)], verbose_name='people a minute'),
        ),
        migrations.AddField(
            model_name='sale',
            name='admission',
            field=models.CharField(choices=[('first_come', 'first come, first served'), ('waiting_room', 'waiting room')], db_default='first_come', default='first_come', help_text='In a waiting room, people who come before the opening get a random place, later ones the next.', max_length=20, verbose_name='admission'),
        ),
        migrations.AddField(
            model_name='sale',
            name='pace',
            field=models.PositiveIntegerField(blank=True, help_text='How many are let in from the waiting room. Empty: as many as orders and payments can take.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100000000)], verbose_name='people a minute'),
        ),
        migrations.AlterField(
            model_name='salechange',
            name='kind',
            field=models.CharField(choices=[('add_units', 'add units'), ('withdraw_units', 'withdraw units'), ('pause', 'pause'), ('resume', 'resume'), ('move_end', 'move the closing time'), ('end_now', 'end now'), ('units_per_buyer', 'units per buyer'), ('pause_item', 'pause the item'), ('resume_item', 'resume the item'), ('return_unsold', 'unsold units back to the stock'), ('pace', 'pace of the waiting room')], max_length=20, verbose_name='change'),
        ),
    ]
