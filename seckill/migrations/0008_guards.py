"""Columns for what a sale asks of its buyers. All are off, and a worker of the last release need not name them."""
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("seckill", "0007_waiting_room"),
    ]

    operations = [
        migrations.AddField(
            model_name='historicalsale',
            name='account_age_hours',
            field=models.PositiveIntegerField(blank=True, help_text='Younger accounts cannot reserve. Empty: every account can.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(87600)], verbose_name='least age of the account in hours'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='accounts_per_device',
            field=models.PositiveIntegerField(blank=True, help_text='The most accounts of one browser that can reserve. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='accounts of one device'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='accounts_per_network',
            field=models.PositiveIntegerField(blank=True, help_text='The most accounts of one internet connection that can reserve. Empty: no limit. Offices share one.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='accounts of one network'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='needs_confirmed_mail',
            field=models.BooleanField(db_default=False, default=False, help_text='Only accounts whose mail address is confirmed can reserve.', verbose_name='confirmed mail address'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='one_per_address',
            field=models.BooleanField(db_default=False, default=False, help_text='Of each item. A second order to an address cannot be paid. Spelling and names do not count.', verbose_name='one purchase for each delivery address'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='one_per_card',
            field=models.BooleanField(db_default=False, default=False, help_text='Of each item. A second payment is refunded, where the payment company tells the shop cards apart.', verbose_name='one purchase for each payment card'),
        ),
        migrations.AddField(
            model_name='historicalsale',
            name='proof_of_work',
            field=models.BooleanField(db_default=False, default=False, help_text='Each device computes for some seconds before it can reserve, while its buyer waits. Buyers without JavaScript cannot reserve then.', verbose_name='proof of work'),
        ),
        migrations.AddField(
            model_name='sale',
            name='account_age_hours',
            field=models.PositiveIntegerField(blank=True, help_text='Younger accounts cannot reserve. Empty: every account can.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(87600)], verbose_name='least age of the account in hours'),
        ),
        migrations.AddField(
            model_name='sale',
            name='accounts_per_device',
            field=models.PositiveIntegerField(blank=True, help_text='The most accounts of one browser that can reserve. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='accounts of one device'),
        ),
        migrations.AddField(
            model_name='sale',
            name='accounts_per_network',
            field=models.PositiveIntegerField(blank=True, help_text='The most accounts of one internet connection that can reserve. Empty: no limit. Offices share one.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='accounts of one network'),
        ),
        migrations.AddField(
            model_name='sale',
            name='needs_confirmed_mail',
            field=models.BooleanField(db_default=False, default=False, help_text='Only accounts whose mail address is confirmed can reserve.', verbose_name='confirmed mail address'),
        ),
        migrations.AddField(
            model_name='sale',
            name='one_per_address',
            field=models.BooleanField(db_default=False, default=False, help_text='Of each item. A second order to an address cannot be paid. Spelling and names do not count.', verbose_name='one purchase for each delivery address'),
        ),
        migrations.AddField(
            model_name='sale',
            name='one_per_card',
            field=models.BooleanField(db_default=False, default=False, help_text='Of each item. A second payment is refunded, where the payment company tells the shop cards apart.', verbose_name='one purchase for each payment card'),
        ),
        migrations.AddField(
            model_name='sale',
            name='proof_of_work',
            field=models.BooleanField(db_default=False, default=False, help_text='Each device computes for some seconds before it can reserve, while its buyer waits. Buyers without JavaScript cannot reserve then.', verbose_name='proof of work'),
        ),
    ]
