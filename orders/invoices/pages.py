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
    return render(request, "orders/invoice/invoice.html", {"invoice": own_invoice(request, number), "number": number})


@never_cache
@login_required
@require_safe
def pdf(request: HttpRequest, number: UUID) -> HttpResponse:
    invoice = own_invoice(request, number)
    headers = {"Content-Disposition": f'attachment; filename="invoice-{invoice.number}.pdf"'}
    return HttpResponse(invoice_pdf(invoice), content_type="application/pdf", headers=headers)


def own_invoice(request: HttpRequest, number: UUID) -> Invoice:
    """Raises Http404, also for an order that is not paid."""
    mine = Order.objects.filter(buyer_id=request.user.pk).select_related("buyer").prefetch_related(with_lines())
    invoice = invoice_of(get_object_or_404(mine, number=number))
    if invoice is None:
        raise Http404
    return invoice
