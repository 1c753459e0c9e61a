"""The checker: compares what the buyers were told with both stores. Makes no queries of its own."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields

from bench.faults.history import UNKNOWN, Action, Event
from bench.faults.store_snapshot import OrderRow, StoreSnapshot
from bench.faults.wire.http_client import BROUGHT_BACK, CHARGED, NOT_LOST
from orders.models import REFUNDS, SOLD, OrderStatus

# Enough to find the others in the logs.
EXAMPLES_MAX = 3
# Why a receipt is refused: no units are left for it, or the buyer has others, up to the limit.
GONE = ("reservation_lost", "limit_reached")
# The words by which a pass that had its yes would hear a false no. A reservation may have ended: that is another word.
FALSE_NOS = {"paused", "not_open", "closed", "sold_out", "held_by_others", "limit_reached", "too_few_left"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Counts of reservations and ordinary orders. `oversold` and `stuck` count units, `violations` says the rest.

    `brought_back` are yeses that were lost and are among the kept ones by their receipts; `refused` are those among the
    not promised whose receipts came when their units had gone.
    """

    told_yes: int = 0
    kept: int = 0
    lost: int = 0
    not_promised: int = 0
    duplicated: int = 0
    oversold: int = 0
    stuck: int = 0
    brought_back: int = 0
    refused: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.duplicated or self.oversold or self.stuck or self.violations)

    def plus(self, other: "Findings") -> "Findings":
        names = [field.name for field in fields(self)]
        return Findings(**{name: getattr(self, name) + getattr(other, name) for name in names})


def check(
    events: Sequence[Event], snapshot: StoreSnapshot, *, may_be_lost: Iterable[str] = (), quantity_moved: bool = False
) -> Findings:
    """Compare. `may_be_lost` are yeses whose only copy in the shop the fault destroyed.

    The shop does not promise to keep them, unless their buyers bring receipts: one that was accepted is a promise.
    """
    orders: defaultdict[str, list[OrderRow]] = defaultdict(list)
    for order in snapshot.orders:
        orders[order.reservation_id].append(order)
    yes, forgiven = first_yes(events), set(may_be_lost)
    kept = {
        reservation_id for reservation_id, event in yes.items() if keeps_promise(event, orders.get(reservation_id, []))
    }
    receipts = last_receipts(events)
    promised_again = {pk for pk, outcome in receipts.items() if outcome in (BROUGHT_BACK, NOT_LOST)}
    not_promised = (({*yes} - kept) & forgiven) - promised_again
    return Findings(
        told_yes=len(yes),
        kept=len(kept),
        lost=len(yes) - len(kept) - len(not_promised),
        not_promised=len(not_promised),
        duplicated=duplicates(events, snapshot),
        oversold=oversold(snapshot),
        stuck=stuck(snapshot),
        brought_back=len(kept & brought_back(events)),
        refused=sum(receipts.get(pk) in GONE for pk in not_promised),
        violations=[
            *find_violations(events, snapshot, not_promised=not_promised, quantity_moved=quantity_moved),
            *false_nos(events, forgiven=forgiven),
            *([] if quantity_moved or forgiven or came_back(snapshot) else sold_again(events)),
        ],
    )


def first_yes(events: Sequence[Event]) -> dict[str, Event]:
    """Reservation id of the pass → its first yes."""
    yes: dict[str, Event] = {}
    for event in events:
        if event.is_yes:
            yes.setdefault(event.reservation_id, event)
    return yes


def last_receipts(events: Sequence[Event]) -> dict[str, str]:
    """Reservation id → the outcome of its receipt, when it was brought last."""
    return {
        event.reservation_id: event.outcome
        for event in events
        if event.action is Action.BRING_RECEIPT and event.is_answer
    }


def brought_back(events: Sequence[Event]) -> set[str]:
    return {event.reservation_id for event in events if event.outcome == BROUGHT_BACK}


def keeps_promise(yes: Event, orders: Sequence[OrderRow]) -> bool:
    """Whether the yes became an order of that buyer for as many units, which could be paid, even if it expired."""
    return any(
        (order.buyer_id, order.units) == (yes.buyer_id, yes.units)
        and order.status != OrderStatus.REJECTED
        and order.payable
        for order in orders
    )


def duplicates(events: Sequence[Event], snapshot: StoreSnapshot) -> int:
    """Passes that got two orders or two reservations, orders paid twice, buyers above their limit."""
    orders_of_pass = Counter(order.reservation_id for order in snapshot.orders)
    told = answers_of(event for event in events if event.is_yes)
    units_of_buyer: Counter[int] = Counter()
    for order in snapshot.orders:
        if order.keeps_units:
            units_of_buyer[order.buyer_id] += order.units
    return (
        sum(count > 1 for count in orders_of_pass.values())
        + sum(len(answers) > 1 or next(iter(answers))[0] != reservation_id for reservation_id, answers in told.items())
        + sum(order.captures > 1 for order in snapshot.orders)
        + sum(units > snapshot.per_buyer_max for units in units_of_buyer.values())
    )


def answers_of(yeses: Iterable[Event]) -> Mapping[str, set[tuple[str, int]]]:
    """Reservation id, or key of a purchase → the ids and units that its yeses named: one pair if all are the same."""
    told: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for event in yeses:
        told[event.reservation_id].add((event.id_in_answer, event.units))
    return told


def oversold(snapshot: StoreSnapshot) -> int:
    """Units above the quantity, in the store that has most."""
    return max(0, max(snapshot.live_units, snapshot.taken, snapshot.reserved) - snapshot.quantity)


def stuck(snapshot: StoreSnapshot) -> int:
    """Units neither sold nor back on sale, and work that is still pending although the fault is over."""
    if snapshot.counters is None:
        return max(1, snapshot.quantity - snapshot.live_units)
    overdue = sum(order.units for order in snapshot.orders if order.overdue)
    pending = sum((not order.settled) + order.money_pending for order in snapshot.orders)
    return max(snapshot.unaccounted, snapshot.difference, overdue) + pending + snapshot.backlog + snapshot.waiting


def find_violations(
    events: Sequence[Event], snapshot: StoreSnapshot, *, not_promised: set[str], quantity_moved: bool
) -> list[str]:
    """Every other promise that was broken, in words. Staff give money back whose order the fault destroyed."""
    by_id = {order.reservation_id: order for order in snapshot.orders}
    cared_for = snapshot.given_back | (snapshot.listed & not_promised)
    charged = {event.reservation_id for event in events if event.outcome == CHARGED}
    sold_units = sum(order.units for order in snapshot.orders if order.status in SOLD)
    answered = [event for event in events if event.is_answer]
    counts = {
        "units of difference between taken and the live orders": abs(snapshot.taken - snapshot.live_units),
        "orders are paid and the payment company has no money for them": sum(
            order.status in SOLD and not order.captures for order in snapshot.orders
        ),
        "orders are not paid and the payment company keeps their money": sum(
            order.status not in SOLD and order.captures > 0 for order in snapshot.orders
        ),
        "buyers were charged and have neither a paid order nor their money back": sum(
            reservation_id not in cared_for and (reservation_id not in by_id or not by_id[reservation_id].captures)
            for reservation_id in charged
        ),
        "orders do not match their holds": sum(differs(order, snapshot) for order in snapshot.orders),
        "holds have no order": sum(
            hold.state in ("held", "sold") and reservation_id not in by_id
            for reservation_id, hold in snapshot.holds.items()
        ),
        "answers said sold out although units were never sold": 0
        if quantity_moved or sold_units >= snapshot.quantity
        else sum(event.outcome == "sold_out" for event in answered),
        "orders came from passes that were never used": len(
            {order.reservation_id for order in snapshot.orders}
            - {event.reservation_id for event in events if event.action in (Action.RESERVE, Action.JOIN)}
        ),
        "answers were neither a yes nor a refusal by the shop": sum(
            event.outcome.startswith("http_") and event.status < 500 for event in answered
        ),
    }
    violations = [f"{count} {what}" for what, count in counts.items() if count]
    odd = [
        order for order in snapshot.orders if differs(order, snapshot) or (order.status in SOLD) != (order.captures > 0)
    ]
    return violations + [f"for example {shown(order, snapshot)}" for order in odd[:EXAMPLES_MAX]]


def false_nos(events: Sequence[Event], *, forgiven: Set[str]) -> list[str]:
    """Calls that were refused although the same pass had been told yes before they were sent, each in words.

    The store may have forgotten the `forgiven` ones: they ask like new ones, until their receipts are brought.
    """
    sent_s = {event.call: event.at_s for event in events if not event.is_answer}
    yes = {name: event for name, event in first_yes(events).items() if name not in forgiven}
    return [
        f"{event.client} was told {event.outcome} after a yes for the same pass"
        for event in events
        if event.action is Action.RESERVE and event.outcome in FALSE_NOS
        if event.reservation_id in yes and sent_s[event.call] > yes[event.reservation_id].at_s
    ]


def came_back(snapshot: StoreSnapshot) -> bool:
    """Whether units that were paid for may have come back, with the money."""
    return any(order.status in REFUNDS and not order.keeps_units for order in snapshot.orders)


def sold_again(events: Sequence[Event]) -> list[str]:
    """New yeses to calls that were sent after somebody was told that all units are sold, in words."""
    sent_s = {event.call: event.at_s for event in events if not event.is_answer}
    sold_out_s = min((event.at_s for event in events if event.outcome == "sold_out"), default=float("inf"))
    count = sum(event.is_yes and event.outcome == "reserved" and sent_s[event.call] > sold_out_s for event in events)
    return [f"{count} buyers were told yes after others were told that all is sold"] if count else []


def nothing_sold(events: Sequence[Event], *, buyers: Set[str]) -> list[str]:
    """In words, if these clients came to buy and none was told yes: then there was no promise to break."""
    if not buyers or any(event.is_yes and event.client in buyers for event in events):
        return []
    return ["none of the buyers was told yes, so this trial proves nothing"]


def shown(order: OrderRow, snapshot: StoreSnapshot) -> str:
    hold = snapshot.holds.get(order.reservation_id)
    state = hold.state if hold else "missing"
    return f"{order.reservation_id}: order {order.status}, hold {state}, {order.captures} captures"


def differs(order: OrderRow, snapshot: StoreSnapshot) -> bool:
    """Whether the store's hold does not match the order. The store may have forgotten an ended hold."""
    hold = snapshot.holds.get(order.reservation_id)
    state = hold.state if hold else "ended"
    if order.status == OrderStatus.AWAITING_PAYMENT:
        return state != "held"
    return (state == "sold") != order.keeps_units


def seconds_of_failed_calls(events: Sequence[Event], *, since_s: float, until_s: float) -> list[float]:
    """How long each reservation call took that was sent in this time and got a 5xx answer or none."""
    sent = {event.call: event for event in events if not event.is_answer and event.action is Action.RESERVE}
    return [
        event.at_s - sent[event.call].at_s
        for event in events
        if event.is_answer
        and event.call in sent
        and since_s <= sent[event.call].at_s <= until_s
        and (event.status >= 500 or event.outcome == UNKNOWN)
    ]
