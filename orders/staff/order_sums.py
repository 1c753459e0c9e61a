"""The amounts of an order as a sum that staff can check: lines, delivery, total, taxes, refunds, what is kept."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from orders.invoices.included_taxes import taxes_of
from orders.models import Order, Refund
from orders.staff.read_only_admin import amount_text


@dataclass(frozen=True, slots=True)
class Row:
    """`is_result` is what the rows above it come to; `is_part` a part of the row above it."""

    name: str
    amount: str
    is_result: bool = False
    is_part: bool = False


def sums_table(order: Order) -> SafeString:
    return render_to_string("admin/orders/order/sums.html", {"rows": list(rows_of(order))})


def rows_of(order: Order) -> Iterator[Row]:
    """Only money that the order took: surplus payments and their refunds are in the tables below."""

    def text(minor: int) -> str:
        return amount_text(minor, order.currency)

    lines_minor = sum(line.amount_minor for line in order.lines.all())
    yield Row(_("Products"), text(lines_minor))
    if order.shipping_name or order.shipping_minor:
        name = " · ".join(filter(None, (_("Delivery"), order.shipping_name)))
        yield Row(name, text(order.shipping_minor))
    if other_minor := order.goods_minor - lines_minor:
        yield Row(_("Difference"), text(other_minor))
    yield Row(_("Total"), text(order.amount_minor), is_result=True)
    for share in taxes_of(order):
        yield Row(
            _("of which %(percent)s%% tax") % {"percent": share.percent_text}, text(share.tax_minor), is_part=True
        )
    refunds = [refund for refund in order.refunds.all() if not refund.is_surplus]
    for refund in reversed(refunds):
        if refund.status != Refund.Status.FAILED:
            yield Row(refund_name(refund), f"−{text(refund.amount_minor)}")
    if order.refunded_minor:
        yield Row(_("Total after refunds"), text(order.amount_minor - order.refunded_minor), is_result=True)


def refund_name(refund: Refund) -> str:
    if refund.status == Refund.Status.REFUNDED:
        return _("Refunded")
    return _("Refund on its way") if refund.payment_id else _("Refund that staff have to pay")
