"""The checker: holds what the clients were told against the books of both stores. No Django model is asked in here."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.faults.history import UNKNOWN, Event, Kind
from bench.faults.http_client import CHARGED
from bench.faults.store_snapshot import Books, OrderRow
from orders.models import SOLD, OrderStatus

# Enough to find the rest in the logs.
EXAMPLES_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Counts of reservations; `oversold` and `stuck` count units; `broken` is everything else, in words."""

    told_yes: int
    kept: int
    lost: int
    not_promised: int
    duplicated: int
    oversold: int
    stuck: int
    broken: Sequence[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.duplicated or self.oversold or self.stuck or self.broken)


def judge(
    events: Sequence[Event], books: Books, *, excused: Iterable[str] = (), quantity_moved: bool = False
) -> Findings:
    """The findings. `excused` are yeses whose only copy the fault destroyed, which nobody promised to keep."""
    orders: defaultdict[str, list[OrderRow]] = defaultdict(list)
    for order in books.orders:
        orders[order.reservation_id].append(order)
    yes = first_yes(events)
    kept = {
        reservation_id for reservation_id, event in yes.items() if keeps_promise(event, orders.get(reservation_id, []))
    }
    not_promised = ({*yes} - kept) & set(excused)
    return Findings(
        told_yes=len(yes),
        kept=len(kept),
        lost=len(yes) - len(kept) - len(not_promised),
        not_promised=len(not_promised),
        duplicated=duplicates(events, books),
        oversold=oversold(books),
        stuck=stuck(books),
        broken=broken_words(events, books, quantity_moved=quantity_moved),
    )


def first_yes(events: Sequence[Event]) -> dict[str, Event]:
    """Reservation id of the pass → its first yes."""
    yes: dict[str, Event] = {}
    for event in events:
        if event.is_yes:
            yes.setdefault(event.reservation_id, event)
    return yes


def keeps_promise(yes: Event, orders: Sequence[OrderRow]) -> bool:
    """Whether the yes became an order of that buyer for as many units. One that he let expire was kept by the shop."""
    return any(
        (order.buyer_id, order.units) == (yes.buyer_id, yes.units) and order.status != OrderStatus.REJECTED
        for order in orders
    )


def duplicates(events: Sequence[Event], books: Books) -> int:
    """Passes that got two orders or two reservations, orders paid twice, buyers above their limit."""
    orders_of_pass = Counter(order.reservation_id for order in books.orders)
    told: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for event in events:
        if event.is_yes:
            told[event.reservation_id].add((event.told_id, event.units))
    units_of_buyer: Counter[int] = Counter()
    for order in books.orders:
        if order.keeps_units:
            units_of_buyer[order.buyer_id] += order.units
    return (
        sum(count > 1 for count in orders_of_pass.values())
        + sum(len(answers) > 1 or next(iter(answers))[0] != reservation_id for reservation_id, answers in told.items())
        + sum(order.captures > 1 for order in books.orders)
        + sum(units > books.per_buyer_max for units in units_of_buyer.values())
    )


def oversold(books: Books) -> int:
    """Units above the quantity, by whichever book has most."""
    in_store = books.counters.held + books.counters.sold if books.counters else 0
    return max(0, max(books.live_units, books.taken, in_store) - books.quantity)


def stuck(books: Books) -> int:
    """Units neither sold nor back on sale, and what has still to happen though nothing hinders it any more."""
    if books.counters is None:
        return max(1, books.quantity - books.live_units)
    counters = books.counters
    adrift = abs(books.quantity - (counters.left or 0) - counters.held - counters.sold)
    differs = abs(counters.held + counters.sold - books.live_units)
    overdue = sum(order.units for order in books.orders if order.overdue)
    unsettled = sum(not order.settled for order in books.orders)
    money_moves = sum(order.money_moves for order in books.orders)
    return max(adrift, differs, overdue) + unsettled + books.backlog + books.waiting + money_moves


def broken_words(events: Sequence[Event], books: Books, *, quantity_moved: bool) -> list[str]:
    """Every other promise that does not hold, in words."""
    by_id = {order.reservation_id: order for order in books.orders}
    charged = {event.reservation_id for event in events if event.word == CHARGED}
    sold_units = sum(order.units for order in books.orders if order.status in SOLD)
    answered = [event for event in events if event.is_answer]
    counts = {
        "units by which taken and the live orders differ": abs(books.taken - books.live_units),
        "orders are paid and the payment company has no money for them": sum(
            order.status in SOLD and not order.captures for order in books.orders
        ),
        "orders are not paid and the payment company keeps their money": sum(
            order.status not in SOLD and order.captures > 0 for order in books.orders
        ),
        "buyers were charged and have neither a paid order nor their money back": sum(
            reservation_id not in by_id or not (by_id[reservation_id].captures or by_id[reservation_id].refunds)
            for reservation_id in charged
        ),
        "orders and holds say different things": sum(differs(order, books) for order in books.orders),
        "holds have no order": sum(
            hold.state in ("held", "sold") and reservation_id not in by_id
            for reservation_id, hold in books.holds.items()
        ),
        "answers said sold out while units were left for ever": 0
        if quantity_moved or sold_units >= books.quantity
        else sum(event.word == "sold_out" for event in answered),
        "orders came from passes that were never used": len(
            {order.reservation_id for order in books.orders}
            - {event.reservation_id for event in events if event.kind is Kind.RESERVE}
        ),
        "answers were neither a yes nor a refusal of the shop": sum(
            event.word.startswith("http_") and event.status < 500 for event in answered
        ),
    }
    words = [f"{count} {what}" for what, count in counts.items() if count]
    odd = [order for order in books.orders if differs(order, books) or (order.status not in SOLD and order.captures)]
    return words + [f"for example {shown(order, books)}" for order in odd[:EXAMPLES_MAX]]


def shown(order: OrderRow, books: Books) -> str:
    hold = books.holds.get(order.reservation_id)
    state = hold.state if hold else "missing"
    return f"{order.reservation_id}: order {order.status}, hold {state}, {order.captures} captures"


def differs(order: OrderRow, books: Books) -> bool:
    """Whether the store's hold says another thing than the order. The store may have forgotten an ended one."""
    hold = books.holds.get(order.reservation_id)
    state = hold.state if hold else "ended"
    if order.status == OrderStatus.AWAITING_PAYMENT:
        return state != "held"
    return (state == "sold") != order.keeps_units


def seconds_of_answers(events: Sequence[Event], *, since_s: float, until_s: float) -> list[float]:
    """How long each reservation call took that was sent in this time and was refused for a fault, or got no answer."""
    sent = {event.call: event for event in events if not event.is_answer and event.kind is Kind.RESERVE}
    return [
        event.at_s - sent[event.call].at_s
        for event in events
        if event.is_answer
        and event.call in sent
        and since_s <= sent[event.call].at_s <= until_s
        and (event.status >= 500 or event.word == UNKNOWN)
    ]
