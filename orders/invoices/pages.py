"""The invoice of a paid order and its notes, for the buyer: pages that print well, and PDFs.

They stay when the order is refunded. Somebody who was paid for an order has an invoice for ever.
"""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.invoices.invoice import invoice_of
from orders.invoices.invoice_pdf import invoice_pdf
from orders.invoices.numbering import numbered
from orders.invoices.writing import write_if_missing
from orders.models import Document, Order


@never_cache
@login_required
@require_safe
def page(request: HttpRequest, number: UUID, document_id: int | None = None) -> HttpResponse:
    return show_invoice(request, own_order(request, number), document_id)


@never_cache
@login_required
@require_safe
def pdf(request: HttpRequest, number: UUID, document_id: int | None = None) -> HttpResponse:
    return send_file(request, own_order(request, number), document_id)


def show_invoice(request: HttpRequest, order: Order, document_id: int | None = None) -> HttpResponse:
    document = document_of(order, document_id)
    others = order.documents.select_related("order").exclude(pk=document.pk).order_by("pk")
    context = {
        "invoice": invoice_of(document),
        "pdf_path": document.pdf_path,
        "others": list(map(numbered, others)),
        "back_path": order.get_absolute_url(),
    }
    return render(request, "orders/invoice/invoice.html", context)


def send_file(_request: HttpRequest, order: Order, document_id: int | None = None) -> HttpResponse:
    return file_of(document_of(order, document_id))


def file_of(document: Document) -> HttpResponse:
    invoice = invoice_of(document)
    headers = {"Content-Disposition": f'attachment; filename="{invoice.number}.pdf"'}
    return HttpResponse(invoice_pdf(invoice), content_type="application/pdf", headers=headers)


def own_order(request: HttpRequest, number: UUID) -> Order:
    return get_object_or_404(Order, buyer_id=request.user.pk, number=number)


def document_of(order: Order, document_id: int | None) -> Document:
    """The invoice, or the note with this id. Raises Http404 for an order that was never paid."""
    wanted = {"kind": Document.Kind.INVOICE} if document_id is None else {"pk": document_id}
    if not order.is_invoiced:
        write_if_missing(order_id=order.pk)
    document = order.documents.select_related("order").filter(**wanted).first()
    if document is None:
        raise Http404
    return numbered(document)
