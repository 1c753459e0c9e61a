"""Who got the units of a sale: how soon after the opening, with accounts of which age, by arrival, network, and draw.

Units count as they were reserved, also if they were returned later. No account is named: all are sums, of a statement
each. Accounts that were deleted keep the day on which they joined.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, pairwise
from typing import Any

from django.db.models import Case, CharField, Count, DurationField, ExpressionWrapper, F, Q, Sum, Value, When
from django.utils.translation import gettext as _

from orders.report.order_figures import KEPT, WAS_PAID, lines_of
from seckill.guards.buyer_networks import networks_of
from seckill.models import DrawEntry, Sale
from seckill.store.client import StoreUnreachable
from seckill.waiting_room.room_ledger import arrivals_of, read_room
from shop.databases.replica import reading_alias
from shop.times.time_left import duration

# The ends of the first steps after the opening, in seconds: where a script is told from a person.
SECONDS = (*range(1, 11), 15, 20, 30, 60, 120, 300, 900, 3600, 86_400)
AGES = {
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}
OLDER = "older"
# Networks by how many units their buyers got: the most units of each group.
NETWORK_SIZES = {"1": 1, "2_to_5": 5, "6_to_20": 20}
LARGER = "over_20"
# So many buyers are looked up in the store at a time.
BUYERS_AT_A_TIME = 1_000


@dataclass(frozen=True, slots=True)
class Won:
    """Units that were reserved, and units among them that were paid."""

    units: int
    paid_units: int


@dataclass(frozen=True, slots=True)
class DrawSums:
    """Entries and the units that they asked for; those that won when the units were drawn, and later."""

    entries: int
    units: int
    won_entries: int
    won_units: int
    won_later_entries: int
    won_later_units: int


@dataclass(frozen=True, slots=True)
class Winners:
    """`by_second` by the first and the last second of a step (None: to the end). `draw` None: nothing was drawn."""

    by_second: Sequence[tuple[int, int | None, Won]]
    by_age: Mapping[str, Won]
    draw: DrawSums | None


def winners_of(sale: Sale) -> Winners:
    return Winners(units_by_second(sale), units_by_age(sale), draw_sums(sale) if sale.has_draw else None)


def units_by_second(sale: Sale) -> list[tuple[int, int | None, Won]]:
    """The steps in which units were reserved."""
    ends = {second: timedelta(seconds=second) for second in SECONDS}
    found = won_by(sale, since=F("order__reserved_at") - Value(sale.opens_at), ends=ends)
    steps: list[tuple[int, int | None]] = [*pairwise((0, *SECONDS)), (SECONDS[-1], None)]
    named = [(first, last, OLDER if last is None else str(last)) for first, last in steps]
    return [(first, last, found[name]) for first, last, name in named if name in found]


def units_by_age(sale: Sale) -> dict[str, Won]:
    """By the age of the account when it reserved."""
    found = won_by(sale, since=F("order__reserved_at") - F("order__buyer__date_joined"), ends=AGES)
    return {name: found[name] for name in (*AGES, OLDER) if name in found}


def won_by(sale: Sale, *, since: Any, ends: Mapping[Any, timedelta]) -> dict[str, Won]:
    """By the first of the `ends` that is later than `since`, or OLDER."""
    steps = [When(since__lt=end, then=Value(str(name))) for name, end in ends.items()]
    lines = lines_of(sale).filter(KEPT).annotate(since=ExpressionWrapper(since, output_field=DurationField()))
    named = lines.annotate(step=Case(*steps, default=Value(OLDER), output_field=CharField())).values_list("step")
    sums = named.annotate(reserved=Sum("units"), paid=Sum("units", filter=WAS_PAID, default=0))
    return {name: Won(reserved, paid) for name, reserved, paid in sums}


def draw_sums(sale: Sale) -> DrawSums:
    # Also those who have passed their units on since, as on the page of the draw (seckill/draw/draw_answers.py).
    won, won_later = Q(won_at_draw=True), Q(won_at_draw=False, reserved_at__isnull=False)
    found = (
        DrawEntry.objects.using(reading_alias())
        .filter(item__sale=sale)
        .aggregate(
            entries=Count("pk"),
            asked=Sum("units", default=0),
            won_entries=Count("pk", filter=won),
            won_units=Sum("units", filter=won, default=0),
            won_later_entries=Count("pk", filter=won_later),
            won_later_units=Sum("units", filter=won_later, default=0),
        )
    )
    return DrawSums(units=found.pop("asked"), **found)


def units_by_arrival(sale: Sale) -> dict[str, int]:
    """By when the buyers joined the waiting room. Empty without a room, and once the store has none any more."""
    if not sale.has_room:
        return {}
    try:
        room = read_room(sale_id=sale.pk)
        if room is None or room.early is None:
            return {}
        found: Counter[str] = Counter()
        for some in units_of_buyers(sale):
            numbers = arrivals_of(sale_id=sale.pk, account_ids=[buyer_id for buyer_id, _units in some])
            for (_buyer_id, units), number in zip(some, numbers, strict=True):
                found["unknown" if number is None else "early" if number < room.early else "later"] += units
    except StoreUnreachable:
        return {}
    return dict(found)


def units_by_network(sale: Sale) -> dict[str, int]:
    """How many networks have buyers with units, and for each group of NETWORK_SIZES the networks and their units.

    Empty if no network is known. Raises errors of the cache server.
    """
    of_network: Counter[str] = Counter()
    unknown = 0
    for some in units_of_buyers(sale):
        marks = networks_of(sale_id=sale.pk, buyer_ids=[buyer_id for buyer_id, _units in some])
        for (_buyer_id, units), mark in zip(some, marks, strict=True):
            if mark is None:
                unknown += units
            else:
                of_network[mark] += units
    if not of_network:
        return {}
    found = Counter(networks=len(of_network), units=of_network.total(), largest=max(of_network.values()))
    for units in of_network.values():
        size = next((name for name, most in NETWORK_SIZES.items() if units <= most), LARGER)
        found.update({f"networks_{size}": 1, f"units_{size}": units})
    return {**found, "unknown": unknown}


def units_of_buyers(sale: Sale) -> Iterator[list[tuple[int, int]]]:
    """Buyers and the units that each reserved, some at a time."""
    rows = lines_of(sale).filter(KEPT).values_list("order__buyer").annotate(reserved=Sum("units")).iterator()
    while some := list(islice(rows, BUYERS_AT_A_TIME)):
        yield some


def age_names() -> dict[str, str]:
    return {
        "day": _("under a day"),
        "week": _("a day to a week"),
        "month": _("a week to a month"),
        "year": _("a month to a year"),
        OLDER: _("over a year"),
    }


def arrival_names() -> dict[str, str]:
    return {
        "early": _("before the opening"),
        "later": _("after the opening"),
        "unknown": _("not known"),
    }


def network_names() -> dict[str, str]:
    return {
        "1": _("1 unit"),
        "2_to_5": _("2 to 5 units"),
        "6_to_20": _("6 to 20 units"),
        LARGER: _("more than 20 units"),
    }


def step_name(first: int, last: int | None) -> str:
    """Of seconds since the opening."""
    if last is None:
        return _("after %(time)s") % {"time": duration(first)}
    if first == 0:
        return _("the first second")
    return _("up to %(time)s") % {"time": duration(last)}
