"""Lines that were ordered before get the texts of their product, some at a time, and the sweep's indexes are built.

Neither holds up buyers: each batch is a transaction of its own, and indexes are built beside the writes. After a kill
`migrate` continues. Invoices of earlier orders are written by a sweep (orders/invoices/writing.py).
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

BATCH_MAX = 1_000

FILL = """
WITH batch AS MATERIALIZED (
    SELECT id, variant_id FROM orders_orderline WHERE id > %s ORDER BY id LIMIT %s
), kept AS MATERIALIZED (
    SELECT id, sku, orders_kept_texts(id) AS texts FROM shop_variant WHERE id IN (SELECT variant_id FROM batch)
), filled AS (
    UPDATE orders_orderline AS line SET sku = kept.sku, texts = kept.texts
    FROM batch JOIN kept ON kept.id = batch.variant_id
    WHERE line.id = batch.id AND line.sku = ''
)
SELECT max(id) FROM batch
"""


def fill_lines(apps: Any, schema_editor: Any) -> None:
    last = 0
    while last is not None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(FILL, [last, BATCH_MAX])
            (last,) = cursor.fetchone()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0003_documents")]

    operations = [
        migrations.RunPython(fill_lines, migrations.RunPython.noop, atomic=False),
        AddIndexConcurrently(
            model_name='order',
            index=models.Index(condition=models.Q(('is_invoiced', False), models.Q(('status__in', ['paid', 'shipped', 'completed']), models.Q(('refunded_minor__gt', 0), ('status__in', ['refund_due', 'refunded'])), _connector='OR')), fields=['ended_at'], name='orders_order_to_invoice'),
        ),
        AddIndexConcurrently(
            model_name='refund',
            index=models.Index(condition=models.Q(('is_surplus', False), models.Q(models.Q(('is_credited', False), ('status', 'refunded')), models.Q(models.Q(('status', 'refunded'), _negated=True), ('is_credited', True)), _connector='OR')), fields=['created_at'], name='orders_refund_to_credit'),
        ),
    ]
