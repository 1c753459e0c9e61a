"""All tables of the app, in one step. Databases that the replaced migrations made have them already."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import shop.models.picture_field
import simple_history.models
import uuid
from django.conf import settings
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('shop', '0001_initial'),
        ('shop', '0002_buyer_language'),
        ('shop', '0004_catalogue'),
        ('shop', '0005_variants_and_languages'),
        ('shop', '0006_products_without_price'),
        ('shop', '0007_addresses_and_account_mails'),
        ('shop', '0008_low_stock_and_history'),
        ('shop', '0009_search'),
        ('shop', '0010_lowest_prices'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # A trusted extension: the right to create things in the database is enough (docs/settings.md).
        TrigramExtension(),
        migrations.CreateModel(
            name='AccountMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('to', models.EmailField(max_length=254)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('html', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('next_attempt_at', models.DateTimeField(db_index=True)),
            ],
            options={
                'verbose_name': 'account mail',
                'verbose_name_plural': 'account mails',
            },
        ),
        migrations.CreateModel(
            name='BuyerLanguage',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('language', models.CharField(max_length=10)),
            ],
            options={
                'verbose_name': "buyer's language",
                'verbose_name_plural': "buyers' languages",
            },
        ),
        migrations.CreateModel(
            name='Product',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('name_en', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('slug', models.SlugField(max_length=200, unique=True, verbose_name='slug')),
                ('description', models.TextField(blank=True, verbose_name='description')),
                ('description_en', models.TextField(blank=True, null=True, verbose_name='description')),
                ('description_zh_hans', models.TextField(blank=True, null=True, verbose_name='description')),
                ('option_names', models.CharField(blank=True, help_text='What buyers choose between, for example “Size / Colour”. Empty if there is only one variant.', max_length=200, verbose_name='options')),
                ('option_names_en', models.CharField(blank=True, help_text='What buyers choose between, for example “Size / Colour”. Empty if there is only one variant.', max_length=200, null=True, verbose_name='options')),
                ('option_names_zh_hans', models.CharField(blank=True, help_text='What buyers choose between, for example “Size / Colour”. Empty if there is only one variant.', max_length=200, null=True, verbose_name='options')),
                ('is_active', models.BooleanField(default=True, verbose_name='shown in the shop')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'product',
                'verbose_name_plural': 'products',
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('digest', models.CharField(max_length=128, primary_key=True, serialize=False)),
                ('token_key', models.CharField(db_index=True, max_length=25)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('expiry', models.DateTimeField(blank=True, null=True)),
                ('auth_hash', models.CharField(max_length=64)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='auth_token_set', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API token',
                'verbose_name_plural': 'API tokens',
            },
        ),
        migrations.CreateModel(
            name='Category',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('name_en', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('slug', models.SlugField(max_length=100, unique=True, verbose_name='slug')),
                ('position', models.PositiveIntegerField(default=0, help_text='Categories beside each other are shown in this order.', verbose_name='position')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='shop.category', verbose_name='parent category')),
            ],
            options={
                'verbose_name': 'category',
                'verbose_name_plural': 'categories',
                'ordering': ['position', 'name', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('parent', None), models.Q(('parent', models.F('pk')), _negated=True), _connector='OR'), name='shop_category_not_its_own_parent', violation_error_message='A category cannot contain itself.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HistoricalCategory',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('name_en', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('slug', models.SlugField(max_length=100, verbose_name='slug')),
                ('position', models.PositiveIntegerField(default=0, help_text='Categories beside each other are shown in this order.', verbose_name='position')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('parent', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='shop.category', verbose_name='parent category')),
            ],
            options={
                'verbose_name': 'historical category',
                'verbose_name_plural': 'historical categories',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='HistoricalTaxRate',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('name_en', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('percent', models.DecimalField(decimal_places=2, max_digits=5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(100)], verbose_name='percent')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'historical tax rate',
                'verbose_name_plural': 'historical tax rates',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='SearchEntry',
            fields=[
                ('product', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search_entry', serialize=False, to='shop.product')),
                ('document', django.contrib.postgres.search.SearchVectorField()),
                ('title', django.contrib.postgres.search.SearchVectorField()),
                ('is_visible', models.BooleanField()),
                ('lowest_minor', models.PositiveBigIntegerField(null=True)),
            ],
            options={
                'indexes': [
                    django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['document'], name='shop_searchentry_document'),
                ],
            },
        ),
        migrations.AddField(
            model_name='product',
            name='category',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='products', to='shop.category', verbose_name='category'),
        ),
        migrations.CreateModel(
            name='Picture',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('image', shop.models.picture_field.PictureField(upload_to=shop.models.picture_field.new_picture_name, verbose_name='picture')),
                ('alt', models.CharField(blank=True, help_text="For people who cannot see it. Empty means the product's name.", max_length=200, verbose_name='description of the picture')),
                ('alt_en', models.CharField(blank=True, help_text="For people who cannot see it. Empty means the product's name.", max_length=200, null=True, verbose_name='description of the picture')),
                ('alt_zh_hans', models.CharField(blank=True, help_text="For people who cannot see it. Empty means the product's name.", max_length=200, null=True, verbose_name='description of the picture')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position')),
                ('product', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pictures', to='shop.product', verbose_name='product')),
            ],
            options={
                'verbose_name': 'picture',
                'verbose_name_plural': 'pictures',
                'ordering': ['product', 'position', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='HistoricalVariant',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('sku', models.CharField(db_index=True, help_text="The shop's own number of this variant.", max_length=64, verbose_name='SKU')),
                ('options_en', models.CharField(blank=True, help_text="The values of the product's options in their order, for example “M / Red”.", max_length=200, null=True, verbose_name='options')),
                ('options_zh_hans', models.CharField(blank=True, help_text="The values of the product's options in their order, for example “M / Red”.", max_length=200, null=True, verbose_name='options')),
                ('price_minor', models.PositiveBigIntegerField(validators=[django.core.validators.MinValueValidator(1)], verbose_name='price in minor units')),
                ('weight_grams', models.PositiveIntegerField(default=0, verbose_name='weight in grams')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position')),
                ('is_active', models.BooleanField(default=True, verbose_name='can be bought')),
                ('low_stock_at', models.PositiveIntegerField(blank=True, help_text="The stock is low at so many available units or fewer. Empty means the shop's usual number.", null=True, verbose_name='low at')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('product', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='shop.product', verbose_name='product')),
            ],
            options={
                'verbose_name': 'historical variant',
                'verbose_name_plural': 'historical variants',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='SearchWord',
            fields=[
                ('word', models.CharField(max_length=60, primary_key=True, serialize=False)),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['word'], name='shop_searchword_trigrams', opclasses=['gin_trgm_ops'])],
            },
        ),
        migrations.CreateModel(
            name='TaxRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('name_en', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=100, null=True, verbose_name='name')),
                ('percent', models.DecimalField(decimal_places=2, max_digits=5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(100)], verbose_name='percent')),
            ],
            options={
                'verbose_name': 'tax rate',
                'verbose_name_plural': 'tax rates',
                'ordering': ['-percent', 'pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('percent__gte', 0), ('percent__lte', 100)), name='shop_taxrate_percent_possible')],
            },
        ),
        migrations.AddField(
            model_name='product',
            name='tax_rate',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='products', to='shop.taxrate', verbose_name='tax rate'),
        ),
        migrations.CreateModel(
            name='HistoricalProduct',
            fields=[
                ('id', models.BigIntegerField(auto_created=True, blank=True, db_index=True, verbose_name='ID')),
                ('name_en', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('name_zh_hans', models.CharField(max_length=200, null=True, verbose_name='name')),
                ('slug', models.SlugField(max_length=200, verbose_name='slug')),
                ('description_en', models.TextField(blank=True, null=True, verbose_name='description')),
                ('description_zh_hans', models.TextField(blank=True, null=True, verbose_name='description')),
                ('option_names_en', models.CharField(blank=True, help_text='What buyers choose between, for example “Size / Colour”. Empty if there is only one variant.', max_length=200, null=True, verbose_name='options')),
                ('option_names_zh_hans', models.CharField(blank=True, help_text='What buyers choose between, for example “Size / Colour”. Empty if there is only one variant.', max_length=200, null=True, verbose_name='options')),
                ('is_active', models.BooleanField(default=True, verbose_name='shown in the shop')),
                ('created_at', models.DateTimeField(blank=True, editable=False, verbose_name='created at')),
                ('history_id', models.AutoField(primary_key=True, serialize=False)),
                ('history_date', models.DateTimeField(db_index=True)),
                ('history_change_reason', models.CharField(max_length=100, null=True)),
                ('history_type', models.CharField(choices=[('+', 'Created'), ('~', 'Changed'), ('-', 'Deleted')], max_length=1)),
                ('category', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='shop.category', verbose_name='category')),
                ('history_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tax_rate', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='shop.taxrate', verbose_name='tax rate')),
            ],
            options={
                'verbose_name': 'historical product',
                'verbose_name_plural': 'historical products',
                'ordering': ('-history_date', '-history_id'),
                'get_latest_by': ('history_date', 'history_id'),
            },
            bases=(simple_history.models.HistoricalChanges, models.Model),
        ),
        migrations.CreateModel(
            name='Variant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sku', models.CharField(help_text="The shop's own number of this variant.", max_length=64, unique=True, verbose_name='SKU')),
                ('options', models.CharField(blank=True, help_text="The values of the product's options in their order, for example “M / Red”.", max_length=200, verbose_name='options')),
                ('options_en', models.CharField(blank=True, help_text="The values of the product's options in their order, for example “M / Red”.", max_length=200, null=True, verbose_name='options')),
                ('options_zh_hans', models.CharField(blank=True, help_text="The values of the product's options in their order, for example “M / Red”.", max_length=200, null=True, verbose_name='options')),
                ('price_minor', models.PositiveBigIntegerField(validators=[django.core.validators.MinValueValidator(1)], verbose_name='price in minor units')),
                ('weight_grams', models.PositiveIntegerField(default=0, verbose_name='weight in grams')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position')),
                ('is_active', models.BooleanField(default=True, verbose_name='can be bought')),
                ('low_stock_at', models.PositiveIntegerField(blank=True, help_text="The stock is low at so many available units or fewer. Empty means the shop's usual number.", null=True, verbose_name='low at')),
                ('available', models.PositiveIntegerField(default=0, editable=False, verbose_name='available')),
                ('held', models.PositiveIntegerField(default=0, editable=False, verbose_name='held by checkouts')),
                ('sold', models.PositiveBigIntegerField(default=0, editable=False, verbose_name='sold')),
                ('product', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='shop.product', verbose_name='product')),
            ],
            options={
                'verbose_name': 'variant',
                'verbose_name_plural': 'variants',
                'ordering': ['product', 'position', 'pk'],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('price_minor__gt', 0)), name='shop_variant_price_positive'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StockChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('counted', 'counted'), ('changed', 'changed by staff'), ('held', 'held for a checkout'), ('released', 'released by a checkout'), ('sold', 'sold'), ('sold_late', 'sold, paid late'), ('returned', 'returned'), ('to_sale', 'given to a flash sale'), ('from_sale', 'back from a flash sale')], max_length=20, verbose_name='change')),
                ('units', models.BigIntegerField(verbose_name='units')),
                ('available_before', models.PositiveIntegerField(verbose_name='available before')),
                ('available_after', models.PositiveIntegerField(verbose_name='available after')),
                ('held_before', models.PositiveIntegerField(verbose_name='held before')),
                ('held_after', models.PositiveIntegerField(verbose_name='held after')),
                ('reason', models.CharField(blank=True, max_length=300, verbose_name='reason')),
                ('reference', models.CharField(blank=True, max_length=64, verbose_name='for')),
                ('made_at', models.DateTimeField(auto_now_add=True, verbose_name='made at')),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='made by')),
                ('variant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='stock_changes', to='shop.variant', verbose_name='variant')),
            ],
            options={
                'verbose_name': 'change of the stock',
                'verbose_name_plural': 'changes of the stock',
                'ordering': ['-pk'],
                'indexes': [
                    models.Index(fields=['variant', '-id'], name='shop_stockchange_of_variant'),
                    models.Index(condition=models.Q(('reference', ''), _negated=True), fields=['reference'], name='shop_stockchange_reference'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Address',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='full name')),
                ('line1', models.CharField(max_length=200, verbose_name='street and number')),
                ('line2', models.CharField(blank=True, max_length=200, verbose_name='flat, building, company')),
                ('city', models.CharField(max_length=100, verbose_name='city')),
                ('region', models.CharField(blank=True, max_length=100, verbose_name='province or state')),
                ('postcode', models.CharField(max_length=20, verbose_name='postcode')),
                ('country', models.CharField(max_length=2, verbose_name='country')),
                ('phone', models.CharField(blank=True, max_length=30, verbose_name='phone')),
                ('is_default', models.BooleanField(default=False, verbose_name='use this address first')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='addresses', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'address',
                'verbose_name_plural': 'addresses',
                'ordering': ['-is_default', '-created_at'],
                'indexes': [models.Index(fields=['user', '-created_at'], name='shop_address_of_user')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('user',), name='shop_address_one_default'), models.CheckConstraint(condition=models.Q(('country__regex', '^[A-Z]{2}$')), name='shop_address_country')],
            },
        ),
    ]
