"""All tables of the app, in one step. Databases that the replaced migrations made have them already."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import simple_history.models
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('orders', '0001_initial'),
        ('orders', '0002_order_life'),
        ('orders', '0003_payments'),
        ('orders', '0004_order_to_look_at'),
        ('orders', '0005_plain_labels'),
        ('orders', '0006_simulated_company_moves_out'),
        ('orders', '0007_payment_request'),
        ('orders', '0008_indexes_of_staff_lists'),
        ('orders', '0009_mails_by_kind'),
        ('orders', '0010_lines_of_item'),
        ('orders', '0011_ordinary_orders'),
        ('orders', '0012_lines_of_variants'),
        ('orders', '0013_lines_without_product'),
        ('orders', '0014_one_index_for_each'),
        ('orders', '0015_history_of_shipping'),
        ('orders', '0016_refunds_in_parts'),
        ('orders', '0017_guests_orders'),
        ('orders', '0018_names_on_parcels'),
        ('orders', '0019_lost_by_a_replaced_database'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('seckill', '0001_squashed'),
        ('shop', '0001_squashed'),
    ]

    operations = [
        # Eight characters out of 32, five random bits each. Byte 6 of such a UUID has fixed bits, so it is left out.
        migrations.RunSQL(
            """
            CREATE OR REPLACE FUNCTION orders_new_code() RETURNS text LANGUAGE sql VOLATILE AS $$
                SELECT string_agg(
                    substr('ABCDEFGHJKLMNPQRSTUVWXYZ23456789', (get_byte(random.bytes, place) & 31) + 1, 1), ''
                )
                FROM (SELECT uuid_send(gen_random_uuid()) AS bytes) AS random,
                     unnest(ARRAY[0, 1, 2, 3, 4, 5, 10, 11]) AS place
            $$
            """,
            "DROP FUNCTION orders_new_code()",
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name='number')),
                ('code', models.CharField(db_default=models.Func(function='orders_new_code'), editable=False, max_length=8, verbose_name='order number')),
                ('reservation_id', models.UUIDField(blank=True, editable=False, null=True, unique=True, verbose_name='reservation')),
                ('email', models.EmailField(blank=True, db_default='', default='', max_length=254, verbose_name='e-mail')),
                ('language', models.CharField(blank=True, db_default='', default='', editable=False, max_length=10, verbose_name='language')),
                ('status', models.CharField(choices=[('awaiting_payment', 'awaiting payment'), ('paid', 'paid'), ('shipped', 'shipped'), ('completed', 'completed'), ('expired', 'expired'), ('cancelled', 'cancelled'), ('rejected', 'rejected'), ('refund_due', 'refund on its way'), ('refunded', 'refunded')], default='awaiting_payment', max_length=20, verbose_name='status')),
                ('amount_minor', models.PositiveBigIntegerField(verbose_name='amount in minor units')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('shipping_name', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='shipping method')),
                ('shipping_minor', models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='shipping in minor units')),
                ('shipping_tax_percent', models.DecimalField(blank=True, decimal_places=2, max_digits=5, null=True, verbose_name='tax on shipping in percent')),
                ('refunded_minor', models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='refunded in minor units')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('reserved_at', models.DateTimeField(verbose_name='reserved at')),
                ('expires_at', models.DateTimeField(verbose_name='to be paid by')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='paid or ended at')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='stock updated at')),
                ('units_back', models.BooleanField(db_default=True, default=True, verbose_name='units back on sale')),
                ('attention', models.CharField(blank=True, choices=[('late_payment_kept', 'paid late, units were left'), ('late_payment_refunded', 'paid late, refunded'), ('amount_differs', 'wrong amount paid'), ('paid_twice', 'paid twice, second payment refunded'), ('refund_fails', 'refund keeps failing'), ('payment_lost', 'paid, but the payment was lost'), ('refund_lost', 'refunded, but the refund was lost')], db_default='', default='', max_length=30, verbose_name='needs attention')),
                ('buyer_note', models.CharField(blank=True, db_default='', default='', max_length=500, verbose_name='note from the buyer')),
                ('staff_note', models.TextField(blank=True, db_default='', default='', verbose_name='notes of the staff')),
                ('carrier', models.CharField(blank=True, db_default='', default='', max_length=100, verbose_name='carrier')),
                ('tracking_number', models.CharField(blank=True, db_default='', default='', max_length=100, verbose_name='tracking number')),
                ('shipped_at', models.DateTimeField(blank=True, null=True, verbose_name='shipped at')),
                ('buyer', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='orders', to=settings.AUTH_USER_MODEL, verbose_name='buyer')),
            ],
            options={
                'verbose_name': 'order',
                'verbose_name_plural': 'orders',
                'ordering': ['-created_at', '-pk'],
                'indexes': [
                    models.Index(fields=['-created_at', '-id'], name='orders_order_newest'),
                    models.Index(fields=['buyer', '-created_at', '-id'], name='orders_order_of_buyer'),
                    models.Index(condition=models.Q(('status', 'awaiting_payment')), fields=['expires_at'], name='orders_order_to_expire'),
                    models.Index(condition=models.Q(('settled_at', None), models.Q(('status', 'awaiting_payment'), _negated=True)), fields=['ended_at'], name='orders_order_unsettled'),
                    models.Index(django.db.models.functions.text.Upper('email'), condition=models.Q(('buyer', None)), name='orders_order_of_guest'),
                    models.Index(condition=models.Q(('attention', ''), _negated=True), fields=['-id'], name='orders_order_attention'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('status__in', ['awaiting_payment', 'paid', 'shipped', 'completed', 'expired', 'cancelled', 'rejected', 'refund_due', 'refunded'])), name='orders_order_status_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('status', 'awaiting_payment')), models.Q(models.Q(('status', 'awaiting_payment'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='orders_order_ended_has_time'),
                    models.CheckConstraint(condition=models.Q(('refunded_minor__lte', models.F('amount_minor'))), name='orders_order_refund_within_amount'),
                    models.UniqueConstraint(fields=('code',), name='orders_order_code_once'),
                    models.CheckConstraint(condition=models.Q(('buyer__isnull', False), models.Q(('email', ''), _negated=True), _connector='OR'), name='orders_order_has_buyer'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Cart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('changed_at', models.DateTimeField(auto_now=True, db_index=True, verbose_name='changed at')),
                ('buyer', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='cart', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'cart',
                'verbose_name_plural': 'carts',
            },
        ),
        migrations.CreateModel(
            name='HistoricalShippingMethod',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('code', models.SlugField(verbose_name='code')),
                ('name_en', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('countries', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=2), blank=True, default=list, help_text='Codes such as CN or DE. Empty means all countries.', size=None, verbose_name='countries')),
                ('basis', models.CharField(choices=[('weight', 'weight in grams'), ('total', 'total of the goods')], default='weight', max_length=10, verbose_name='price by')),
                ('free_from_minor', models.PositiveBigIntegerField(blank=True, help_text='Goods of this total or more are sent free of charge.', null=True, verbose_name='free from')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position')),
                ('is_active', models.BooleanField(default=True, verbose_name='offered')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tax_rate', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='shop.taxrate', verbose_name='tax rate')),
            ],
            options={
                'verbose_name': 'historical shipping method',
                'verbose_name_plural': 'historical shipping methods',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='IdempotentCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.CharField(max_length=64, verbose_name='caller')),
                ('key', models.CharField(max_length=255, verbose_name='key')),
                ('fingerprint', models.CharField(max_length=64, verbose_name='fingerprint')),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='HTTP status')),
                ('answer', models.JSONField(null=True, verbose_name='answer')),
                ('created_at', models.DateTimeField(auto_now_add=True, db_index=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'idempotent call',
                'verbose_name_plural': 'idempotent calls',
                'constraints': [models.UniqueConstraint(fields=('owner', 'key'), name='orders_idempotentcall_once')],
            },
        ),
        migrations.CreateModel(
            name='OrderToLookAt',
            fields=[
            ],
            options={
                'verbose_name': 'order that needs attention',
                'verbose_name_plural': 'orders that need attention',
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('orders.order',),
        ),
        migrations.CreateModel(
            name='OrderLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('units', models.PositiveIntegerField(verbose_name='units')),
                ('unit_price_minor', models.PositiveBigIntegerField(verbose_name='unit price in minor units')),
                ('tax_percent', models.DecimalField(blank=True, decimal_places=2, max_digits=5, null=True, verbose_name='tax in percent')),
                ('order', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.order', verbose_name='order')),
                ('sale_item', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='order_lines', to='seckill.saleitem', verbose_name='sale item')),
                ('variant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='order_lines', to='shop.variant', verbose_name='product')),
            ],
            options={
                'verbose_name': 'order line',
                'verbose_name_plural': 'order lines',
                'ordering': ['pk'],
                'indexes': [
                    models.Index(fields=['sale_item', 'order'], name='orders_orderline_of_item'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='orders_orderline_units_positive'),
                    models.UniqueConstraint(fields=('order', 'variant'), name='orders_orderline_variant_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='payment')),
                ('provider', models.CharField(max_length=20, verbose_name='provider')),
                ('provider_reference', models.CharField(blank=True, max_length=255, verbose_name='reference at the provider')),
                ('idempotency_key', models.CharField(max_length=255, verbose_name='idempotency key')),
                ('status', models.CharField(choices=[('pending', 'pending'), ('captured', 'captured'), ('failed', 'failed'), ('refund_due', 'refund on its way'), ('refunded', 'refunded')], default='pending', max_length=20, verbose_name='status')),
                ('amount_minor', models.PositiveBigIntegerField(verbose_name='amount in minor units')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('url', models.TextField(blank=True, verbose_name='payment page')),
                ('request', models.JSONField(editable=False, null=True, verbose_name='request for the payment page')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('captured_at', models.DateTimeField(blank=True, null=True, verbose_name='captured at')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='payment page closed at')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='refund attempts')),
                ('next_attempt_at', models.DateTimeField(blank=True, null=True, verbose_name='next attempt at')),
                ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='orders.order', verbose_name='order')),
            ],
            options={
                'verbose_name': 'payment',
                'verbose_name_plural': 'payments',
                'ordering': ['-created_at'],
                'indexes': [
                    models.Index(condition=models.Q(('status', 'refund_due')), fields=['next_attempt_at'], name='orders_payment_to_refund'),
                    models.Index(condition=models.Q(('next_attempt_at__isnull', False), ('status', 'captured')), fields=['next_attempt_at'], name='orders_payment_to_decide'),
                    models.Index(condition=models.Q(('closed_at', None), ('status__in', ['pending', 'failed'])), fields=['created_at'], name='orders_payment_to_close'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('status__in', ['pending', 'captured'])), fields=('order',), name='orders_payment_one_at_a_time'),
                    models.UniqueConstraint(fields=('order', 'idempotency_key'), name='orders_payment_idempotent'),
                    models.UniqueConstraint(condition=models.Q(('provider_reference', ''), _negated=True), fields=('provider', 'provider_reference'), name='orders_payment_reference_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PaymentEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=20, verbose_name='provider')),
                ('event_id', models.CharField(max_length=255, verbose_name='event')),
                ('kind', models.CharField(max_length=20, verbose_name='kind')),
                ('payment_id', models.UUIDField(verbose_name='payment')),
                ('provider_reference', models.CharField(blank=True, max_length=255, verbose_name='reference at the provider')),
                ('reservation_id', models.UUIDField(blank=True, null=True, verbose_name='reservation')),
                ('refund_id', models.UUIDField(blank=True, null=True, verbose_name='refund')),
                ('amount_minor', models.PositiveBigIntegerField(verbose_name='amount in minor units')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('happened_at', models.DateTimeField(verbose_name='happened at')),
                ('received_at', models.DateTimeField(auto_now_add=True, verbose_name='received at')),
                ('applied_at', models.DateTimeField(blank=True, null=True, verbose_name='applied at')),
                ('outcome', models.CharField(blank=True, max_length=100, verbose_name='outcome')),
            ],
            options={
                'verbose_name': 'payment event',
                'verbose_name_plural': 'payment events',
                'ordering': ['-pk'],
                'indexes': [models.Index(condition=models.Q(('applied_at', None)), fields=['received_at'], name='orders_paymentevent_waiting'), models.Index(fields=['payment_id'], name='orders_paymentevent_payment')],
                'constraints': [models.UniqueConstraint(fields=('provider', 'event_id'), name='orders_paymentevent_once')],
            },
        ),
        migrations.CreateModel(
            name='Refund',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='refund')),
                ('amount_minor', models.PositiveBigIntegerField(verbose_name='amount in minor units')),
                ('status', models.CharField(choices=[('due', 'refund on its way'), ('refunded', 'refunded'), ('failed', 'refund failed')], default='due', max_length=20, verbose_name='status')),
                ('is_whole', models.BooleanField(default=False, verbose_name='whole payment')),
                ('reason', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('provider_reference', models.CharField(blank=True, max_length=255, verbose_name='reference at the provider')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(blank=True, null=True, verbose_name='next attempt at')),
                ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='made by')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='orders.order', verbose_name='order')),
                ('payment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='orders.payment', verbose_name='payment')),
            ],
            options={
                'verbose_name': 'refund',
                'verbose_name_plural': 'refunds',
                'ordering': ['-created_at', '-pk'],
                'indexes': [
                    models.Index(condition=models.Q(('is_whole', False), ('status', 'due')), fields=['next_attempt_at'], name='orders_refund_due'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('status__in', ['due', 'refunded', 'failed'])), name='orders_refund_status_known'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('paid', 'confirmation'), ('shipped', 'shipped'), ('expired', 'expiry'), ('refunded', 'refund'), ('link', "link to a guest's order")], max_length=10, verbose_name='kind')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('sent_at', models.DateTimeField(blank=True, null=True, verbose_name='sent at')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('next_attempt_at', models.DateTimeField(blank=True, null=True, verbose_name='next attempt at')),
                ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='orders.order', verbose_name='order')),
                ('refund', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='orders.refund', verbose_name='refund')),
            ],
            options={
                'verbose_name': 'mail',
                'verbose_name_plural': 'mails',
                'ordering': ['-pk'],
                'indexes': [
                    models.Index(condition=models.Q(('sent_at', None)), fields=['kind', 'next_attempt_at'], name='orders_mail_unsent_kind'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('order', 'kind', 'refund'), name='orders_mail_once_per_refund', nulls_distinct=False),
                ],
            },
        ),
        migrations.CreateModel(
            name='RefundLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('units', models.PositiveIntegerField(verbose_name='units')),
                ('is_returned', models.BooleanField(default=False, verbose_name='back in stock')),
                ('line', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='refund_lines', to='orders.orderline', verbose_name='order line')),
                ('refund', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.refund', verbose_name='refund')),
            ],
            options={
                'verbose_name': 'line of a refund',
                'verbose_name_plural': 'lines of refunds',
                'ordering': ['pk'],
                'constraints': [
                    models.UniqueConstraint(fields=('refund', 'line'), name='orders_refundline_once'),
                    models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='orders_refundline_units_positive'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ShippingMethod',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.SlugField(unique=True, verbose_name='code')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('name_en', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('countries', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=2), blank=True, default=list, help_text='Codes such as CN or DE. Empty means all countries.', size=None, verbose_name='countries')),
                ('basis', models.CharField(choices=[('weight', 'weight in grams'), ('total', 'total of the goods')], default='weight', max_length=10, verbose_name='price by')),
                ('free_from_minor', models.PositiveBigIntegerField(blank=True, help_text='Goods of this total or more are sent free of charge.', null=True, verbose_name='free from')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position')),
                ('is_active', models.BooleanField(default=True, verbose_name='offered')),
                ('tax_rate', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='shop.taxrate', verbose_name='tax rate')),
            ],
            options={
                'verbose_name': 'shipping method',
                'verbose_name_plural': 'shipping methods',
                'ordering': ['position', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='HistoricalShippingPrice',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('up_to', models.PositiveBigIntegerField(blank=True, help_text='Empty means no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='up to')),
                ('price_minor', models.PositiveBigIntegerField(verbose_name='price in minor units')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('method', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='orders.shippingmethod', verbose_name='shipping method')),
            ],
            options={
                'verbose_name': 'historical shipping price',
                'verbose_name_plural': 'historical shipping prices',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='ShippingPrice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('up_to', models.PositiveBigIntegerField(blank=True, help_text='Empty means no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='up to')),
                ('price_minor', models.PositiveBigIntegerField(verbose_name='price in minor units')),
                ('method', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='prices', to='orders.shippingmethod', verbose_name='shipping method')),
            ],
            options={
                'verbose_name': 'shipping price',
                'verbose_name_plural': 'shipping prices',
                'ordering': ['method', models.OrderBy(models.F('up_to'), nulls_last=True)],
                'constraints': [
                    models.UniqueConstraint(fields=('method', 'up_to'), name='orders_shippingprice_once', nulls_distinct=False),
                    models.CheckConstraint(condition=models.Q(('up_to', None), ('up_to__gt', 0), _connector='OR'), name='orders_shippingprice_up_to_positive'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CartLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('units', models.PositiveIntegerField(verbose_name='units')),
                ('seen_price_minor', models.PositiveBigIntegerField(verbose_name='price shown, in minor units')),
                ('cart', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.cart', verbose_name='cart')),
                ('variant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='shop.variant', verbose_name='product')),
            ],
            options={
                'verbose_name': 'line of a cart',
                'verbose_name_plural': 'lines of carts',
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('cart', 'variant'), name='orders_cartline_once'), models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='orders_cartline_units_positive')],
            },
        ),
        migrations.CreateModel(
            name='ShippingAddress',
            fields=[
                ('order', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='shipping_address', serialize=False, to='orders.order', verbose_name='order')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('line1', models.CharField(max_length=200, verbose_name='street and house number')),
                ('line2', models.CharField(blank=True, max_length=200, verbose_name='address, second line')),
                ('city', models.CharField(max_length=100, verbose_name='city')),
                ('region', models.CharField(blank=True, max_length=100, verbose_name='province or state')),
                ('postcode', models.CharField(max_length=20, verbose_name='postcode')),
                ('country', models.CharField(max_length=2, verbose_name='country')),
                ('phone', models.CharField(blank=True, max_length=30, verbose_name='phone')),
            ],
            options={
                'verbose_name': 'shipping address',
                'verbose_name_plural': 'shipping addresses',
                'indexes': [models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('name'), name='text_pattern_ops'), name='orders_address_name')],
            },
        ),
    ]
