"""Which variants are running out."""

from django.conf import settings
from django.db.models import F, Q

from shop.models import Variant

# Every page of the admin has the badge, so no more are counted.
BADGE_MAX = 99


def is_low() -> Q:
    """A condition on variants: at their own limit or, without one, at the shop's."""
    return Q(available__lte=F("low_stock_at")) | Q(low_stock_at=None, available__lte=settings.LOW_STOCK_AT)


def is_for_sale() -> Q:
    """A condition on variants: buyers can find them in the shop."""
    return Q(is_active=True, product__is_active=True)


def badge() -> str:
    """For the sidebar, how many variants that buyers can find are low; empty if none."""
    count = Variant.objects.filter(is_for_sale(), is_low())[: BADGE_MAX + 1].count()
    return f"{BADGE_MAX}+" if count > BADGE_MAX else str(count or "")
