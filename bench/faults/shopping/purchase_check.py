"""Compares what the buyers of the ordinary shop were told with their orders, the stock and the payment company.

Makes no queries of its own. The words are those of `bench/faults/checker.py`: a purchase was told yes if its checkout
was answered 201.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from bench.faults.checker import EXAMPLES_MAX, Findings, answers_of
from bench.faults.history import Action, Event
from bench.faults.shopping.purchase_snapshot import PurchaseRow, PurchaseSnapshot
from bench.faults.shopping.shopping_trip import RUNNING
from bench.faults.wire.http_client import CHARGED
from orders.models import SOLD, OrderStatus


def split(events: Sequence[Event]) -> tuple[list[Event], list[Event]]:
    """Those about reservations, and those about purchases."""
    of_shop = (Action.FILL_CART, Action.CHECK_OUT)
    keys = {event.reservation_id for event in events if event.action in of_shop}
    return (
        [event for event in events if event.reservation_id not in keys],
        [event for event in events if event.reservation_id in keys],
    )


def check_purchases(events: Sequence[Event], snapshot: PurchaseSnapshot) -> Findings:
    """Compare. `events` are those about purchases."""
    of_key: defaultdict[str, list[PurchaseRow]] = defaultdict(list)
    for row in snapshot.purchases:
        of_key[row.key].append(row)
    yes: dict[str, Event] = {}
    for event in events:
        if event.is_order:
            yes.setdefault(event.reservation_id, event)
    kept = sum(keeps_promise(event, of_key[key]) for key, event in yes.items())
    return Findings(
        told_yes=len(yes),
        kept=kept,
        lost=len(yes) - kept,
        duplicated=duplicates(events, snapshot),
        oversold=sum(row.too_many for row in snapshot.goods),
        stuck=stuck(snapshot),
        violations=find_violations(events, snapshot),
    )


def keeps_promise(yes: Event, orders: Sequence[PurchaseRow]) -> bool:
    """Whether the yes is an order of that buyer with that number and as many units, even one that expired unpaid."""
    return any(
        (row.number, row.buyer_id, row.units) == (yes.id_in_answer, yes.buyer_id, yes.units)
        and row.status != OrderStatus.REJECTED
        for row in orders
    )


def duplicates(events: Sequence[Event], snapshot: PurchaseSnapshot) -> int:
    """Purchases that became two orders or were told two, and orders that were paid twice."""
    orders_of_key = Counter(row.key for row in snapshot.purchases)
    told = answers_of(event for event in events if event.is_order)
    return (
        sum(count > 1 for count in orders_of_key.values())
        + sum(len(answers) > 1 for answers in told.values())
        + sum(row.captures > 1 for row in snapshot.purchases)
    )


def stuck(snapshot: PurchaseSnapshot) -> int:
    """Units that are nowhere or were not returned, and work that is still pending although the fault is over."""
    missing = sum(abs(row.missing) for row in snapshot.goods)
    overdue = sum(row.units for row in snapshot.purchases if row.overdue)
    pending = sum((not row.settled) + row.money_pending for row in snapshot.purchases)
    return max(missing, overdue) + snapshot.unreturned + pending + snapshot.waiting


def find_violations(events: Sequence[Event], snapshot: PurchaseSnapshot) -> list[str]:
    """Every other promise that was broken, in words."""
    with_money = {row.key for row in snapshot.purchases if row.captures or row.refunds}
    wrong_money = [row for row in snapshot.purchases if row.kept_minor != row.due_minor]
    refused = refused_keys(events)
    counts = {
        "units by which the counters of the stock differ from the orders": sum(
            row.miscounted for row in snapshot.goods
        ),
        "ordinary orders of which the payment company keeps another amount than the shop says": len(wrong_money),
        "buyers of the shop were charged and have neither a paid order nor their money back": len(
            {event.reservation_id for event in events if event.outcome == CHARGED} - with_money
        ),
        "purchases were refused and ordered all the same": sum(row.key in refused for row in snapshot.purchases),
        "ordinary orders came from nobody's checkout": len(
            {row.key for row in snapshot.purchases}
            - {event.reservation_id for event in events if event.action is Action.CHECK_OUT}
        ),
        "answers to shoppers were neither a yes nor a refusal by the shop": sum(
            event.is_answer and event.outcome.startswith("http_") and event.status < 500 for event in events
        ),
    }
    violations = [f"{count} {what}" for what, count in counts.items() if count]
    violations += [f"for example {shown(row)}" for row in wrong_money[:EXAMPLES_MAX]]
    return violations + [f"stock audit: {difference}" for difference in snapshot.audit]


def refused_keys(events: Sequence[Event]) -> set[str]:
    """The purchases whose last checkout was refused, and that were never told yes."""
    last: dict[str, Event] = {}
    for event in events:
        if event.action is Action.CHECK_OUT and event.is_answer and event.outcome != RUNNING:
            last[event.reservation_id] = event
    ordered = {event.reservation_id for event in events if event.is_order}
    return {key for key, event in last.items() if 400 <= event.status < 500} - ordered


def shown(row: PurchaseRow) -> str:
    kind = "sold" if row.status in SOLD else "not sold"
    return f"{row.number}: {row.status} ({kind}), {row.kept_minor} kept and {row.due_minor} due"
