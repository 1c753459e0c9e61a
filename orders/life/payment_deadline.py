"""Until when an order from a flash sale can be paid.

The reservation store gives each hold a deadline, and only the order's expiry ends the hold. An order that is written
late, because the workers or PostgreSQL were away, gets some time from then on: else a yes would arrive dead.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models.functions import Now

from seckill.models import SaleItem
from shop.times.timestamps import from_ms, now_ms


def payment_deadline(*, hold_ends: datetime, hold_time: timedelta, now: datetime) -> datetime:
    """The end of the hold, or the shortest time to pay from `now`, whichever is later.

    The shortest time is SECKILL_PAY_SECONDS_MIN, and no longer than the sale's own holds.
    """
    return max(hold_ends, now + min(hold_time, timedelta(seconds=settings.SECKILL_PAY_SECONDS_MIN)))


def deadline_of_hold(*, item_id: int, deadline_ms: int) -> datetime:
    """The least that the order of this hold will have, for a buyer who waits for it."""
    if deadline_ms > now_ms():
        return from_ms(deadline_ms)
    item = SaleItem.objects.select_related("sale").annotate(now=Now()).get(pk=item_id)
    hold_time = timedelta(seconds=item.sale.hold_seconds)
    return payment_deadline(hold_ends=from_ms(deadline_ms), hold_time=hold_time, now=item.now)
