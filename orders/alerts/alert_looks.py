"""The events that staff are alerted to. Each is found in data that the shop keeps anyway."""

from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from orders.models import AlertKind, Attention, Order
from orders.preflight.kept import last_results
from orders.preflight.readiness import BEFORE_OPENING
from orders.repair.audit import last_result as last_audit
from orders.repair.nightly_stock_audit import stock_differences
from seckill import ledger
from seckill.models import Sale, SaleItem, movable_items
from seckill.outbox import outbox

# The subjects of alerts that are about the whole shop.
ALL = "all"
STOCK = "stock"


@dataclass(slots=True)
class Look:
    """What a look found: the alerts of a kind that are on, by their subjects with their titles, and those that are off.

    `unknown` are subjects about which nobody can say now: their alerts stay as they are. Alerts of other subjects are
    over; where `says_rest` is False nothing is said about that, such as of items whose sale has ended.
    """

    kind: AlertKind
    on: dict[str, str] = field(default_factory=dict)
    off: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    says_rest: bool = False


def sold_out() -> Look:
    """Items of running sales of which nothing is left and nothing held. Raises StoreUnreachable."""
    running = SaleItem.objects.filter(announced_at__isnull=False, archived_at=None, quantity__isnull=False)
    running = running.filter(sale__opens_at__lte=Now(), sale__closes_at__gt=Now())
    items = {item.pk: item for item in running.select_related("sale", "variant__product").order_by("pk")}
    counters = ledger.read_many(item_ids=list(items)) if items else {}
    found = Look(AlertKind.SOLD_OUT)
    for pk, item in items.items():
        known = counters.get(pk)
        if known is None:
            found.unknown.append(str(pk))
        elif known.left == 0 and known.held == 0:
            found.on[str(pk)] = f"{item.variant} · {item.sale}"
        else:
            found.off.append(str(pk))
    return found


def late_orders() -> Look:
    """Reservations that wait too long to become orders. Over when the wait is half of it: it would come and go."""
    item_ids = list(movable_items().values_list("pk", flat=True))
    waits = outbox.waiting(item_ids=item_ids) if item_ids else {}
    wait_ms = max((wait.oldest_ms for wait in waits.values()), default=0)
    bound_ms = settings.ALERT_LAG_SECONDS * 1000
    if wait_ms > bound_ms:
        return Look(AlertKind.LAG, {ALL: _("%(seconds)d seconds") % {"seconds": wait_ms // 1000}})
    is_over = wait_ms <= bound_ms / 2 and len(waits) == len(item_ids)
    return Look(AlertKind.LAG, unknown=[] if is_over else [ALL], says_rest=True)


def differences() -> Look:
    """Those that the last audits found: between both stores, and in the ordinary stock."""
    audit, stock = last_audit(), stock_differences()
    counts = {ALL: sum(audit[1].values()) if audit else None, STOCK: stock}
    names = {ALL: _("orders and reservations"), STOCK: _("ordinary stock")}
    return Look(
        AlertKind.DIFFERENCE,
        {subject: f"{names[subject]} ({count})" for subject, count in counts.items() if count},
        unknown=[subject for subject, count in counts.items() if count is None],
        says_rest=True,
    )


def failed_refunds() -> Look:
    failing = Order.objects.filter(attention=Attention.REFUND_FAILS).order_by("pk")
    return Look(AlertKind.REFUND_FAILED, {str(order.pk): order.shown_code for order in failing}, says_rest=True)


def sales_not_ready() -> Look:
    """Sales that open within the hour and whose pre-flight, which is repeated by itself, has stops.

    A result from before that hour, such as of a person who looked days ago, says nothing about now.
    """
    coming = Sale.objects.filter(published_at__isnull=False, opens_at__gt=Now(), opens_at__lte=Now() + BEFORE_OPENING)
    sales = {sale.pk: sale for sale in coming.order_by("pk")}
    results = last_results(sales) if sales else {}
    found = Look(AlertKind.NOT_READY)
    for pk, sale in sales.items():
        result = results.get(pk)
        if result is None or result.at < sale.opens_at - BEFORE_OPENING:
            found.unknown.append(str(pk))
        elif result.stops:
            found.on[str(pk)] = str(sale)
        else:
            found.off.append(str(pk))
    return found


LOOKS: tuple[Callable[[], Look], ...] = (sold_out, late_orders, differences, failed_refunds, sales_not_ready)
