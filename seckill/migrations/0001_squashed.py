"""All tables of the app, in one step. Databases that the replaced migrations made have them already."""

import django.core.validators
import django.db.models.deletion
import simple_history.models
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('seckill', '0001_initial'),
        ('seckill', '0002_live_control'),
        ('seckill', '0003_plain_labels'),
        ('seckill', '0004_sale_listed'),
        ('seckill', '0005_archived_items'),
        ('seckill', '0006_variants'),
        ('seckill', '0007_items_of_variants'),
        ('seckill', '0008_items_without_product'),
        ('seckill', '0009_unsold_units'),
        ('seckill', '0010_history'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('shop', '0001_squashed'),
    ]

    operations = [
        migrations.CreateModel(
            name='HistoricalSale',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('name_en', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('opens_at', models.DateTimeField(verbose_name='opens at')),
                ('closes_at', models.DateTimeField(verbose_name='closes at')),
                ('hold_seconds', models.PositiveIntegerField(default=900, help_text='How long reserved units are held for a buyer who has not paid yet.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(604800)], verbose_name='seconds to pay')),
                ('late_payment', models.CharField(choices=[('take_again', 'complete the purchase if units are left, otherwise refund'), ('refund', 'always refund')], default='take_again', help_text='What happens when a payment arrives after the deadline.', max_length=20, verbose_name='late payments')),
                ('listed', models.BooleanField(db_default=True, default=True, help_text="Shown on the home page and in the API's lists. If unchecked, no page leads to it, but its number can be guessed.", verbose_name='listed')),
                ('published_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='published at')),
                ('paused', models.BooleanField(default=False, editable=False, verbose_name='paused')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'historical sale',
                'verbose_name_plural': 'historical sales',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='Sale',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('name_en', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('opens_at', models.DateTimeField(verbose_name='opens at')),
                ('closes_at', models.DateTimeField(verbose_name='closes at')),
                ('hold_seconds', models.PositiveIntegerField(default=900, help_text='How long reserved units are held for a buyer who has not paid yet.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(604800)], verbose_name='seconds to pay')),
                ('late_payment', models.CharField(choices=[('take_again', 'complete the purchase if units are left, otherwise refund'), ('refund', 'always refund')], default='take_again', help_text='What happens when a payment arrives after the deadline.', max_length=20, verbose_name='late payments')),
                ('listed', models.BooleanField(db_default=True, default=True, help_text="Shown on the home page and in the API's lists. If unchecked, no page leads to it, but its number can be guessed.", verbose_name='listed')),
                ('published_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='published at')),
                ('paused', models.BooleanField(default=False, editable=False, verbose_name='paused')),
            ],
            options={
                'verbose_name': 'sale',
                'verbose_name_plural': 'sales',
                'ordering': ['-opens_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('closes_at__gt', models.F('opens_at'))), name='seckill_sale_window_forward', violation_error_message='The sale must close after it opens.'), models.CheckConstraint(condition=models.Q(('hold_seconds__gt', 0)), name='seckill_sale_hold_positive')],
            },
        ),
        migrations.CreateModel(
            name='HistoricalSaleItem',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('price_minor', models.PositiveBigIntegerField(verbose_name='sale price in minor units')),
                ('quantity', models.PositiveIntegerField(blank=True, help_text='Units on sale. Empty means unlimited.', null=True, validators=[django.core.validators.MinValueValidator(1, 'Enter at least one unit, or leave it empty for unlimited.'), django.core.validators.MaxValueValidator(100000000)], verbose_name='quantity')),
                ('per_buyer_max', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1, 'A buyer must be allowed at least one unit.'), django.core.validators.MaxValueValidator(100000000)], verbose_name='units per buyer')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('variant', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='shop.variant', verbose_name='product')),
                ('sale', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='seckill.sale', verbose_name='sale')),
            ],
            options={
                'verbose_name': 'historical sale item',
                'verbose_name_plural': 'historical sale items',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='SaleItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('price_minor', models.PositiveBigIntegerField(verbose_name='sale price in minor units')),
                ('quantity', models.PositiveIntegerField(blank=True, help_text='Units on sale. Empty means unlimited.', null=True, validators=[django.core.validators.MinValueValidator(1, 'Enter at least one unit, or leave it empty for unlimited.'), django.core.validators.MaxValueValidator(100000000)], verbose_name='quantity')),
                ('per_buyer_max', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1, 'A buyer must be allowed at least one unit.'), django.core.validators.MaxValueValidator(100000000)], verbose_name='units per buyer')),
                ('taken', models.PositiveBigIntegerField(default=0, editable=False, verbose_name='in orders')),
                ('announced_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='in the reservation store since')),
                ('archived_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='archived at')),
                ('from_stock', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='from the ordinary stock')),
                ('sale', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='seckill.sale', verbose_name='sale')),
                ('variant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sale_items', to='shop.variant', verbose_name='product')),
            ],
            options={
                'verbose_name': 'sale item',
                'verbose_name_plural': 'sale items',
                'ordering': ['pk'],
                'indexes': [
                    models.Index(condition=models.Q(('announced_at', None)), fields=['sale'], name='seckill_saleitem_unannounced'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('sale', 'variant'), name='seckill_saleitem_variant_once', violation_error_message='This product is already in the sale.'),
                    models.CheckConstraint(condition=models.Q(('quantity__gte', 0)), name='seckill_saleitem_quantity_not_negative'),
                    models.CheckConstraint(condition=models.Q(('per_buyer_max__gt', 0)), name='seckill_saleitem_per_buyer_positive'),
                    models.CheckConstraint(condition=models.Q(('quantity', None), ('taken__lte', models.F('quantity')), _connector='OR'), name='seckill_saleitem_never_oversold'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SaleChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('operation_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name='operation')),
                ('kind', models.CharField(choices=[('add_units', 'add units'), ('withdraw_units', 'withdraw units'), ('pause', 'pause'), ('resume', 'resume'), ('move_end', 'move the closing time'), ('end_now', 'end now'), ('units_per_buyer', 'units per buyer'), ('return_unsold', 'unsold units back to the stock')], max_length=20, verbose_name='change')),
                ('units', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='units')),
                ('closes_at', models.DateTimeField(blank=True, null=True, verbose_name='closes at')),
                ('reason', models.CharField(max_length=300, verbose_name='reason')),
                ('made_at', models.DateTimeField(auto_now_add=True, verbose_name='made at')),
                ('status', models.CharField(choices=[('pending', 'pending'), ('applied', 'applied'), ('refused', 'refused')], default='pending', max_length=10, verbose_name='status')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('outcome', models.CharField(blank=True, max_length=200, verbose_name='outcome')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='made by')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='seckill.saleitem', verbose_name='sale item')),
            ],
            options={
                'verbose_name': 'change of a sale',
                'verbose_name_plural': 'changes of sales',
                'ordering': ['-pk'],
                'indexes': [
                    models.Index(condition=models.Q(('status', 'pending')), fields=['item', 'id'], name='seckill_salechange_pending'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('status', 'pending')), models.Q(models.Q(('status', 'pending'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='seckill_salechange_finished_has_time'),
                ],
            },
        ),
    ]
