"""Orders and revenue of the last days, by the day on which an order was placed, in the shop's time zone."""

import time
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db.models import Count, F, Q, Sum
from django.utils import timezone

from orders.models import SOLD, Order
from shop.databases.replica import may_lag, reading_alias

# With today.
DAYS = 14
# Only refunds and late payments change a past day.
PAST_KEPT_SECONDS = 3600.0
# Today is summed again at once while that is cheap. On the day of a large sale it takes a hundredth of the time.
TODAY_KEPT_SECONDS_MAX = 120.0
TODAY_KEPT_TIMES = 100

PAID = Q(status__in=SOLD)


@dataclass(frozen=True, slots=True)
class DaySum:
    """`paid` orders are among the `orders`; their revenue is without what was refunded of them."""

    day: date
    orders: int = 0
    paid: int = 0
    revenue_minor: int = 0


class DaySums:
    """Keeps what it has summed, and when that is to be summed again. For one thread."""

    def __init__(self) -> None:
        self._kept: dict[date, tuple[DaySum, float]] = {}

    def read(self) -> list[DaySum]:
        """Each of the last days, today at the end.

        Days are summed one by one: what is done stays done if a later one takes PostgreSQL too long.
        """
        today = timezone.localdate()
        days = [today - timedelta(days=number) for number in reversed(range(DAYS))]
        self._kept = {day: self._kept[day] for day in days if day in self._kept}
        for day in days:
            began_s = time.monotonic()
            if day in self._kept and began_s < self._kept[day][1]:
                continue
            found = sum_day(day)
            took_seconds = time.monotonic() - began_s
            kept_seconds = min(took_seconds * TODAY_KEPT_TIMES, TODAY_KEPT_SECONDS_MAX)
            self._kept[day] = found, began_s + (PAST_KEPT_SECONDS if day < today else kept_seconds)
        return [self._kept[day][0] for day in days]


@may_lag
def sum_day(day: date) -> DaySum:
    """Reads the orders of this day alone, by the index of `created_at`."""
    orders = Order.objects.using(reading_alias()).order_by()
    of_day = orders.filter(created_at__gte=midnight(day), created_at__lt=midnight(day + timedelta(days=1)))
    in_shops_currency = Q(currency=settings.CURRENCY)
    sums = of_day.aggregate(
        orders=Count("pk"),
        paid=Count("pk", filter=PAID),
        revenue_minor=Sum(F("amount_minor") - F("refunded_minor"), filter=PAID & in_shops_currency, default=0),
    )
    return DaySum(day, **sums)


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=timezone.get_current_timezone())
