"""Mails to buyers. Owed in the transaction that moves the order, sent by Celery afterwards, once for each kind."""

from collections.abc import Iterable

from orders.models import Mail


def owe(*, order_ids: Iterable[int], kind: Mail.Kind) -> None:
    """Note that the orders' buyers are to be told. Call it in the transaction that moves the orders; idempotent."""
    Mail.objects.bulk_create((Mail(order_id=pk, kind=kind) for pk in order_ids), ignore_conflicts=True)
