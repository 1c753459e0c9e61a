"""Invoices and their notes are written here, each once, in the transaction that they belong to.

The caller has locked the order. `Order.is_invoiced` and `Refund.is_credited` change together with the rows, so a sweep
finds what a worker of an older release has not written, and a call that is repeated writes nothing.
"""

from typing import Any
from uuid import UUID

from django.db import transaction

from orders.invoices.contents import invoice_contents, note_contents, rest_of
from orders.models import Document, Order, Refund
from orders.models.order import LACKS_INVOICE
from orders.models.refund import LACKS_NOTE

# Documents of older releases written by one call of the sweep, each in a transaction of its own.
BATCH_MAX = 200

Kind = Document.Kind


def write_invoice(*, order_id: int) -> None:
    """The invoice of an order that was just marked as paid."""
    if Order.objects.filter(pk=order_id, is_invoiced=False).update(is_invoiced=True) != 1:
        return
    order = Order.objects.select_related("buyer").get(pk=order_id)
    Document.objects.create(
        kind=Kind.INVOICE,
        order=order,
        total_minor=order.amount_minor,
        currency=order.currency,
        contents=invoice_contents(order),
    )


def write_note(*, refund_id: UUID) -> None:
    """The credit note of a refund that is done, or the debit note of one that has failed since."""
    refund = Refund.objects.select_related("order").get(pk=refund_id)
    invoice = Document.objects.filter(order=refund.order, kind=Kind.INVOICE).first()
    if invoice is None:
        # It was no sale, or the sweep writes the invoice first.
        return
    is_done = refund.status == Refund.Status.REFUNDED
    lacking = Refund.objects.filter(LACKS_NOTE, pk=refund.pk, is_credited=not is_done)
    if lacking.update(is_credited=is_done) != 1:
        return
    Document.objects.create(
        kind=Kind.CREDIT_NOTE if is_done else Kind.DEBIT_NOTE,
        order=refund.order,
        refund=refund,
        total_minor=refund.amount_minor,
        currency=refund.currency,
        contents=credit_contents(refund, invoice) if is_done else credited_contents(refund),
    )


def credit_contents(refund: Refund, invoice: Document) -> dict[str, Any]:
    """What the credit note says, after all notes that the invoice has."""
    kept = Document.objects.filter(order=refund.order).order_by("pk").values_list("kind", "contents")
    contents_of = {kind: [contents for of_kind, contents in kept if of_kind == kind] for kind in Kind}
    rest = rest_of(invoice.contents, credited=contents_of[Kind.CREDIT_NOTE], debited=contents_of[Kind.DEBIT_NOTE])
    return note_contents(refund, invoice.contents, invoice_id=invoice.pk, invoice_minor=invoice.total_minor, rest=rest)


def credited_contents(refund: Refund) -> dict[str, Any]:
    """A debit note says the same as the credit note that it cancels."""
    contents: dict[str, Any] = refund.documents.filter(kind=Kind.CREDIT_NOTE).latest("pk").contents
    return contents


def write_if_missing(*, order_id: int) -> bool:
    """Write the invoice of an order that an older release has sold. False if it has one, or was never paid."""
    with transaction.atomic():
        if not Order.objects.select_for_update().filter(LACKS_INVOICE, pk=order_id).exists():
            return False
        write_invoice(order_id=order_id)
    return True


def write_missing() -> int:
    """Write one batch of invoices and notes that an older release has not written. Returns how many."""
    orders = Order.objects.filter(LACKS_INVOICE).order_by("ended_at").values_list("pk", flat=True)
    count = sum(write_if_missing(order_id=order_id) for order_id in list(orders[:BATCH_MAX]))
    refunds = Refund.objects.filter(LACKS_NOTE, order__documents__kind=Kind.INVOICE).order_by("created_at")
    for refund_id, order_id in list(refunds.values_list("pk", "order_id")[:BATCH_MAX]):
        with transaction.atomic():
            Order.objects.select_for_update().get(pk=order_id)
            write_note(refund_id=refund_id)
        count += 1
    return count
