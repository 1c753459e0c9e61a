"""Numbers of invoices and notes: one series for each kind, without gaps.

A payment writes its invoice without a number, so payments never wait for each other. Afterwards one transaction numbers
all that wait, in the order of their ids, from the highest number on. Only one does so at a time. A payment that is
rolled back leaves no row and so no gap, and a process that is killed has numbered all of its batch or none.
"""

from django.db import connection, transaction

from orders.models import Document

# Documents numbered in one transaction.
BATCH_MAX = 500
# Chosen freely; it differs from the shop's other advisory locks.
LOCK = 0x1A7C0001

NUMBER_WAITING = f"""
WITH waiting AS (
    SELECT id, kind, row_number() OVER (PARTITION BY kind ORDER BY id) AS place
    FROM {Document._meta.db_table} WHERE number IS NULL ORDER BY id LIMIT %s
)
UPDATE {Document._meta.db_table} AS document
SET issued_at = now(), number = waiting.place + coalesce(
    (SELECT max(number) FROM {Document._meta.db_table} AS numbered WHERE numbered.kind = waiting.kind), 0)
FROM waiting WHERE document.id = waiting.id
"""


def number_waiting() -> int:
    """Number one batch of the documents that wait. Returns how many. Cheap if none waits."""
    if not Document.objects.filter(number=None).exists():
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        # A statement of its own: the next one sees what the holder before has committed.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        cursor.execute(NUMBER_WAITING, [BATCH_MAX])
        count: int = cursor.rowcount
    return count


def numbered(document: Document) -> Document:
    """The document with its number, which a page that is opened right after the payment does not wait for."""
    while document.number is None:
        number_waiting()
        document.refresh_from_db()
    return document
