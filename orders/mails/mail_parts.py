"""The parts under the sentences of every mail about an order: the lines, the sums, the facts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.invoices.included_taxes import taxes_of
from orders.models import Order, OrderLine, Refund
from orders.shipping.carriers import tracking_url
from shop.templatetags.amounts import money
from shop.times.zone import named_time


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and its value, of one or more lines. `url` makes it a link."""

    name: str
    values: list[str]
    url: str = ""


def lines_of(order: Order) -> list[tuple[str, str, str]]:
    """A line of the order: name, units × price, amount."""
    return [
        (
            line.title,
            units_text(line, order),
            money(line.amount_minor, order.currency),
        )
        for line in order.lines.all()
    ]


def sums_of(order: Order) -> Iterator[tuple[str, str, bool]]:
    """The sums under the lines: name, amount, and whether it is the total."""
    if order.shipping_name:
        yield _("Goods"), money(order.goods_minor, order.currency), False
        shipping = money(order.shipping_minor, order.currency) if order.shipping_minor else _("free")
        yield order.shipping_name, shipping, False
    yield _("Total"), money(order.amount_minor, order.currency), True
    for share in taxes_of(order):
        name = _("Includes %(percent)s%% tax") % {"percent": share.percent_text}
        yield name, money(share.tax_minor, order.currency), False
    for refund in order.refunds.all():
        if refund.status == Refund.Status.REFUNDED and not refund.is_surplus:
            yield _("Refunded"), f"−{money(refund.amount_minor, order.currency)}", False


def facts_of(order: Order) -> Iterator[Fact]:
    yield Fact(_("Order number"), [order.shown_code])
    if order.shipped_at and order.carrier:
        yield Fact(_("Carrier"), [order.carrier])
    if order.shipped_at and order.tracking_number:
        url = tracking_url(carrier=order.carrier, tracking_number=order.tracking_number)
        yield Fact(_("Tracking number"), [order.tracking_number], url)
    address = getattr(order, "shipping_address", None)
    if address is not None:
        yield Fact(_("Delivery address"), address.lines)
    yield Fact(_("Reserved at") if order.reservation_id else _("Ordered at"), [time_text(order.reserved_at)])


def units_text(line: OrderLine, order: Order) -> str:
    """Units × price, and how many of them were refunded."""
    text = f"{line.units} × {money(line.unit_price_minor, order.currency)}"
    refunded = _("%(count)s refunded") % {"count": line.refunded_units}
    return f"{text} · {refunded}" if line.refunded_units else text


def time_text(at: datetime) -> str:
    """A time in the shop's time zone, which is named, since the reader may be in another one."""
    with timezone.override(None):
        return named_time(at)
