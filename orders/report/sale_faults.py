"""What went wrong during a sale, as far as the shop has noted it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from orders.models import StoreRepair
from orders.report.kept_sums import AROUND, Sums
from orders.report.order_figures import ItemUnits, Times
from seckill.live.answer_groups import GROUPS
from seckill.models import Sale
from shop.databases.replica import reading_alias

# The page shows the first ones.
FAULTS_MAX = 100
# An order is so late only where workers had stopped or were overwhelmed.
ORDER_LAG_TO_TELL = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Fault:
    """`kind` and `value` are for programs: a count of calls or orders, or seconds. `until` None: it goes on."""

    kind: str
    value: float | None
    text: str
    since: datetime | None = None
    until: datetime | None = None


def faults_of(sale: Sale, *, names: Mapping[int, str], sums: Sums, total: ItemUnits, times: Times) -> Iterator[Fault]:
    """In the order in which they began."""
    timed = [*errors_in(sums), *repairs_of(sale, names=names)]
    yield from sorted(timed, key=lambda fault: fault.since or sale.opens_at)[:FAULTS_MAX]
    if total.rejected_orders:
        text = ngettext(
            "%(count)d reservation was rejected: its buyer had been told yes.",
            "%(count)d reservations were rejected: their buyers had been told yes.",
            total.rejected_orders,
        )
        yield Fault("rejected_orders", total.rejected_orders, text % {"count": total.rejected_orders})
    if times.order_lag and times.order_lag >= ORDER_LAG_TO_TELL:
        text = _("One order was written only %(seconds)d seconds after its buyer was told yes.")
        seconds = round(times.order_lag.total_seconds())
        yield Fault("seconds_from_yes_to_order", seconds, text % {"seconds": seconds})


def errors_in(sums: Sums) -> Iterator[Fault]:
    """Steps one after another in which buyers were told to try again are one fault."""
    count, begun, ends = 0, 0, 0
    for minute in [*sorted(sums.minutes), None]:
        failed = 0 if minute is None else sum(sums.minutes[minute].get(word, 0) for word in GROUPS["failed"])
        if count and (minute != ends or not failed):
            text = ngettext(
                "%(count)d call was told to try again: a server did not answer, or the shop had an error.",
                "%(count)d calls were told to try again: a server did not answer, or the shop had an error.",
                count,
            )
            yield Fault("errors", count, text % {"count": count}, at_minute(begun), at_minute(ends))
            count = 0
        if failed and minute is not None:
            begun = begun if count else minute
            count, ends = count + failed, minute + sums.step_minutes


def repairs_of(sale: Sale, *, names: Mapping[int, str]) -> Iterator[Fault]:
    """Times in which the reservation store was compared with the orders, until the end of the sale."""
    repairs = StoreRepair.objects.using(reading_alias()).filter(
        item__sale=sale, began_at__gte=sale.opens_at - AROUND, began_at__lte=sale.closes_at
    )
    for repair in repairs.order_by("began_at")[:FAULTS_MAX]:
        text = (
            _("%(item)s: the reservation store had lost something, which the orders gave back.")
            if repair.differed
            else _("%(item)s: the reservation store was restarted or replaced, and agreed with the orders.")
        )
        lasted = (repair.ended_at - repair.began_at).total_seconds() if repair.ended_at else None
        kind = "store_corrected" if repair.differed else "store_compared"
        yield Fault(kind, lasted, text % {"item": names[repair.item_id]}, repair.began_at, repair.ended_at)


def at_minute(minute: int) -> datetime:
    return timezone.localtime(datetime.fromtimestamp(minute * 60, UTC))
