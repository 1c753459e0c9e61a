"""An item can be paused alone, and a pause has a note for buyers. The new columns have defaults in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('seckill', '0004_choice_of_replicas'),
    ]

    operations = [
        migrations.AddField(
            model_name='salechange',
            name='public_note',
            field=models.JSONField(blank=True, db_default={}, default=dict, verbose_name='note for buyers'),
        ),
        migrations.AddField(
            model_name='saleitem',
            name='paused',
            field=models.BooleanField(db_default=False, default=False, editable=False, verbose_name='paused'),
        ),
        migrations.AlterField(
            model_name='salechange',
            name='kind',
            field=models.CharField(choices=[('add_units', 'add units'), ('withdraw_units', 'withdraw units'), ('pause', 'pause'), ('resume', 'resume'), ('move_end', 'move the closing time'), ('end_now', 'end now'), ('units_per_buyer', 'units per buyer'), ('pause_item', 'pause the item'), ('resume_item', 'resume the item'), ('return_unsold', 'unsold units back to the stock')], max_length=20, verbose_name='change'),
        ),
    ]
