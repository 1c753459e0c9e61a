"""Order lines keep the texts of their product, invoices are rows, and a guest gets a mail at the checkout.

Nothing here waits for rows: the columns have constant defaults. `0004_rows_of_before` fills the rows and builds the
indexes of the large tables.
"""

import django.db.models.deletion
from django.db import migrations, models

# In each language that the shop has now: a column such as `name_zh_hans` for each of them.
TEXTS = r"""
CREATE FUNCTION orders_kept_texts(variant_id bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'name', (SELECT coalesce(jsonb_object_agg(substr(key, 6), value), '{}')
                 FROM jsonb_each_text(to_jsonb(product)) WHERE key LIKE 'name\_%' AND value <> ''),
        'options', (SELECT coalesce(jsonb_object_agg(substr(key, 9), value), '{}')
                    FROM jsonb_each_text(to_jsonb(variant)) WHERE key LIKE 'options\_%' AND value <> ''),
        'option_names', (SELECT coalesce(jsonb_object_agg(substr(key, 14), value), '{}')
                         FROM jsonb_each_text(to_jsonb(product)) WHERE key LIKE 'option\_names\_%' AND value <> '')
    )
    FROM shop_variant AS variant JOIN shop_product AS product ON product.id = variant.product_id
    WHERE variant.id = variant_id
$$;

-- Also for workers of the release before, which know neither column.
CREATE FUNCTION orders_keep_texts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept record;
BEGIN
    SELECT sku, orders_kept_texts(id) AS texts INTO kept FROM shop_variant WHERE id = NEW.variant_id;
    IF FOUND THEN
        NEW.sku := kept.sku;
        NEW.texts := kept.texts;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER orders_keep_texts BEFORE INSERT ON orders_orderline
    FOR EACH ROW WHEN (NEW.sku = '') EXECUTE FUNCTION orders_keep_texts();
"""

NO_TEXTS = """
DROP TRIGGER orders_keep_texts ON orders_orderline;
DROP FUNCTION orders_keep_texts;
DROP FUNCTION orders_kept_texts;
"""

FROZEN = """
CREATE FUNCTION orders_document_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.number IS NOT NULL OR (to_jsonb(OLD) - 'number' - 'issued_at') <> (to_jsonb(NEW) - 'number' - 'issued_at')
    THEN
        RAISE EXCEPTION 'an invoice or credit note does not change' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER orders_document_is_frozen BEFORE UPDATE ON orders_document
    FOR EACH ROW EXECUTE FUNCTION orders_document_is_frozen();
"""

NOT_FROZEN = """
DROP TRIGGER orders_document_is_frozen ON orders_document;
DROP FUNCTION orders_document_is_frozen;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0002_one_kind_of_refund"),
        ("shop", "0002_knox_table"),
    ]

    operations = [
        migrations.AlterField(
            model_name="mail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("placed", "order received"),
                    ("paid", "confirmation"),
                    ("shipped", "shipped"),
                    ("expired", "expiry"),
                    ("refunded", "refund"),
                    ("link", "link to a guest's order"),
                ],
                max_length=10,
                verbose_name="kind",
            ),
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('invoice', 'invoice'), ('credit_note', 'credit note'), ('debit_note', 'debit note')], max_length=12, verbose_name='kind')),
                ('number', models.PositiveBigIntegerField(editable=False, null=True, verbose_name='number')),
                ('total_minor', models.PositiveBigIntegerField(verbose_name='total in minor units')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('contents', models.JSONField(verbose_name='contents')),
                ('made_at', models.DateTimeField(auto_now_add=True, verbose_name='made at')),
                ('issued_at', models.DateTimeField(editable=False, null=True, verbose_name='issued on')),
            ],
            options={
                'verbose_name': 'invoice or credit note',
                'verbose_name_plural': 'invoices and credit notes',
                'ordering': ['-pk'],
            },
        ),
        migrations.AddField(
            model_name='order',
            name="billing_address",
            field=models.CharField(
                blank=True, db_default="", default="", max_length=500, verbose_name="billing address"
            ),
        ),
        migrations.AddField(
            model_name='order',
            name='is_invoiced',
            field=models.BooleanField(db_default=False, default=False, editable=False, verbose_name='has an invoice'),
        ),
        migrations.AddField(
            model_name='order',
            name='vat_number',
            field=models.CharField(blank=True, db_default='', default='', max_length=20, verbose_name='VAT number'),
        ),
        migrations.AddField(
            model_name='orderline',
            name='sku',
            field=models.CharField(blank=True, db_default='', default='', max_length=64, verbose_name='SKU'),
        ),
        migrations.AddField(
            model_name='orderline',
            name='texts',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict, editable=False, verbose_name='texts of the product'),
        ),
        migrations.AddField(
            model_name='refund',
            name='is_credited',
            field=models.BooleanField(db_default=False, default=False, editable=False, verbose_name='has a credit note'),
        ),
        migrations.AddField(
            model_name='document',
            name='order',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='orders.order', verbose_name='order'),
        ),
        migrations.AddField(
            model_name='document',
            name='refund',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='orders.refund', verbose_name='refund'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(condition=models.Q(('number', None)), fields=['id'], name='orders_document_to_number'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(fields=('kind', 'number'), name='orders_document_number_once'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'invoice')), fields=('order',), name='orders_document_one_invoice'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('issued_at', None), ('number', None)), models.Q(('issued_at__isnull', False), ('number__isnull', False)), _connector='OR'), name='orders_document_issued_with_number'),
        ),
        migrations.RunSQL(TEXTS, NO_TEXTS),
        migrations.RunSQL(FROZEN, NOT_FROZEN),
    ]
