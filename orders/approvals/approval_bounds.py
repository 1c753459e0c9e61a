"""Which changes need a second person: those above the bounds of the settings, where these are set."""

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Now

from orders.models import Order
from seckill.models import SaleChange, SaleItem

# Small steps within this time count together, so that a bound is not passed in several of them.
TOGETHER = timedelta(days=1)


def refund_needs_another(order: Order, *, amount_minor: int) -> bool:
    """Together with what was refunded of the order before."""
    bound_minor: int | None = settings.APPROVAL_REFUND_ABOVE
    return bound_minor is not None and order.refunded_minor + amount_minor > bound_minor


def added_units_need_another(item: SaleItem) -> bool:
    """All that staff added to the item within a day. Asked once the last units are written, under the sale's lock."""
    bound: int | None = settings.APPROVAL_UNITS_ABOVE
    if bound is None:
        return False
    added = item.changes.filter(kind=SaleChange.Kind.ADD_UNITS, made_at__gt=Now() - TOGETHER)
    units: int = added.exclude(status=SaleChange.Status.REFUSED).aggregate(units=Sum("units", default=0))["units"]
    return units > bound


def prices_need_another(items: Iterable[SaleItem]) -> bool:
    """Whether one of the items, which need their variants, is cheaper by more than the bound."""
    bound: int | None = settings.APPROVAL_PERCENT_OFF_ABOVE
    return bound is not None and any(
        (item.variant.price_minor - item.price_minor) * 100 > bound * item.variant.price_minor for item in items
    )
