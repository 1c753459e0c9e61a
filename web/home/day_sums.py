"""Orders and revenue of the last days, by the day on which an order was placed, in the shop's time zone."""

import time
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db.models import Count, F, Q, Sum
from django.db.models.functions import TruncDate
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
    """Keeps what it has summed. For one thread."""

    def __init__(self) -> None:
        self._past: list[DaySum] = []
        self._today = DaySum(date.min)
        self._past_again_s = self._today_again_s = 0.0

    def read(self) -> list[DaySum]:
        """Each of the last days, today at the end."""
        today = timezone.localdate()
        is_new_day = self._today.day != today
        if is_new_day or time.monotonic() >= self._past_again_s:
            self._past = sum_days(today - timedelta(days=DAYS - 1), today)
            self._past_again_s = time.monotonic() + PAST_KEPT_SECONDS
        if is_new_day or time.monotonic() >= self._today_again_s:
            began_s = time.monotonic()
            (self._today,) = sum_days(today, today + timedelta(days=1))
            took_seconds = time.monotonic() - began_s
            self._today_again_s = began_s + min(took_seconds * TODAY_KEPT_TIMES, TODAY_KEPT_SECONDS_MAX)
        return [*self._past, self._today]


@may_lag
def sum_days(first: date, end: date) -> list[DaySum]:
    """The days from `first` to before `end`, in one statement that reads by the index of `created_at`."""
    rows = (
        Order.objects.using(reading_alias())
        .filter(created_at__gte=midnight(first), created_at__lt=midnight(end))
        .annotate(day=TruncDate("created_at"))
        .values("day")
        .order_by("day")
        .annotate(
            orders=Count("pk"),
            paid=Count("pk", filter=PAID),
            revenue_minor=Sum(
                F("amount_minor") - F("refunded_minor"), filter=PAID & Q(currency=settings.CURRENCY), default=0
            ),
        )
    )
    found = {row["day"]: DaySum(**row) for row in rows}
    days = [first + timedelta(days=number) for number in range((end - first).days)]
    return [found.get(day, DaySum(day)) for day in days]


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=timezone.get_current_timezone())
