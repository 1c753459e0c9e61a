"""The invoice of a paid order, for its buyer: a page that prints well, and a PDF."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.invoices.invoice import Invoice, invoice_of
from orders.invoices.invoice_pdf import invoice_pdf
from orders.models import Order, with_lines


@never_cache
@login_required
@require_safe
def page(request: HttpRequest, number: UUID) -> HttpResponse:
    return show_invoice(request, own_order(request, number))


@never_cache
@login_required
@require_safe
def pdf(request: HttpRequest, number: UUID) -> HttpResponse:
    return send_file(own_order(request, number))


def show_invoice(request: HttpRequest, order: Order) -> HttpResponse:
    return render(request, "orders/invoice/invoice.html", {"invoice": invoice_or_404(order), "order": order})


def send_file(order: Order) -> HttpResponse:
    invoice = invoice_or_404(order)
    headers = {"Content-Disposition": f'attachment; filename="invoice-{invoice.number}.pdf"'}
    return HttpResponse(invoice_pdf(invoice), content_type="application/pdf", headers=headers)


def own_order(request: HttpRequest, number: UUID) -> Order:
    mine = Order.objects.filter(buyer_id=request.user.pk).select_related("buyer").prefetch_related(with_lines())
    return get_object_or_404(mine, number=number)


def invoice_or_404(order: Order) -> Invoice:
    """Raises Http404 for an order that is not paid."""
    invoice = invoice_of(order)
    if invoice is None:
        raise Http404
    return invoice
