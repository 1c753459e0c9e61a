"""Proves conservation across both stores while the sale runs: issued = left + held + sold + on their way.

Every hold of the store is laid beside its order. Most pairs agree. Others are in motion: a reservation whose order is
on its way, an ending that the store has not been told yet. The two stores cannot be read at one instant, so whatever
does not come out is looked at again. What moves from look to look is a sale in full swing; what stands still and
disagrees is a difference, and it has a reservation id.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from orders.models import LIVE, Order, OrderLine, OrderStatus
from orders.repair.reconcile import expected_terms, wanted_of
from seckill import item_state, outbox
from seckill.ledger import Hold
from seckill.ledger_words import RestoreAs
from seckill.models import SaleItem

# After this long a sale that is still moving is reported as moving.
PATIENCE_SECONDS = 15.0
PAUSE_SECONDS = 0.5
# What is the same in so many looks stands still.
LOOKS = 3
# The store is told of an ending within seconds; later than this, something is stuck (promise P5).
SETTLING = timedelta(seconds=60)
BATCH_MAX = 500

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Difference:
    """A reservation on which the stores disagree: what its order and its hold say, empty where there is none."""

    reservation_id: UUID
    order: str
    hold: str
    units: int

    def __str__(self) -> str:
        return (
            f"{self.reservation_id}: order {self.order or 'missing'}, hold {self.hold or 'missing'}, {self.units} units"
        )


@dataclass(slots=True)
class Look:
    """One look at an item, in units; `quantity` and `left` None mean unlimited, or a store without the item.

    `held`: orders that await payment. `sold`: orders that were paid. `on_the_way`: reservations in the outbox that are
    no order yet. `settling`: holds whose order has moved on, the store not yet. `differences` and `sums` (sentences
    about totals that do not come out) are trouble only where they stand still.
    """

    item_id: int
    quantity: int | None = None
    left: int | None = None
    held: int = 0
    sold: int = 0
    on_the_way: int = 0
    settling: int = 0
    taken: int = 0
    differences: set[Difference] = field(default_factory=set)
    sums: set[str] = field(default_factory=set)

    @property
    def issued(self) -> int | None:
        """left + held + sold + on their way + being settled, which the quantity has to be. None where unlimited."""
        return None if self.left is None else self.left + self.held + self.sold + self.on_the_way + self.settling

    @property
    def clean(self) -> bool:
        return not self.differences and not self.sums

    @property
    def trouble(self) -> int:
        """How many things do not come out: 0 is what an operator wants to see."""
        return len(self.differences) + len(self.sums)


@dataclass(frozen=True, slots=True)
class Audit:
    """The last look, with only that trouble in it which stood still. `moving`: there was other trouble, which moved."""

    look: Look
    moving: bool
    seconds: float


def audit(
    *, item_id: int, patience_seconds: float = PATIENCE_SECONDS, report: Report = lambda done, total: None
) -> Audit:
    """Audit one item. One look where all comes out; else until it does, or stands still, or patience is over.

    Raises StoreUnreachable.
    """
    started_s = time.monotonic()
    looks = [look_at(item_id=item_id, report=report)]
    while not looks[-1].clean:
        steady = looks[-LOOKS:]
        still = all((look.differences, look.sums) == (steady[0].differences, steady[0].sums) for look in steady)
        # However long a look takes: fewer than these say nothing of what moves.
        if len(steady) == LOOKS and (still or time.monotonic() - started_s > patience_seconds):
            break
        time.sleep(PAUSE_SECONDS)
        looks.append(look_at(item_id=item_id, report=lambda done, total: None))
    last = looks[-1]
    before = last.trouble
    last.differences = set.intersection(*(look.differences for look in looks[-LOOKS:]))
    last.sums = set.intersection(*(look.sums for look in looks[-LOOKS:]))
    return Audit(look=last, moving=last.trouble < before, seconds=time.monotonic() - started_s)


def look_at(*, item_id: int, report: Report) -> Look:
    """Read both stores once, the holds before their orders: an order is never older than its hold."""
    look = Look(item_id=item_id)
    if item_state.conditions(item_ids=[item_id])[item_id] is not item_state.Condition.VERIFIED:
        look.sums.add("the item is not whole in the store, or it is not verified yet")
    totals = item_state.totals(item_id=item_id)
    look.quantity, look.left = totals.counted.get("quantity"), totals.counted.get("left")
    look.sums |= set(sums_of(item_id, totals))
    for portion in item_state.all_holds(item_id=item_id):
        compare_holds(look, {UUID(name): hold for name, hold in portion.items()})
    compare_orders(look, report=report)
    if look.issued is not None and look.issued != look.quantity:
        look.sums.add(f"issued {look.issued} of {look.quantity}")
    item = SaleItem.objects.get(pk=item_id)
    look.taken = item.taken
    return look


def sums_of(item_id: int, totals: item_state.Totals) -> Iterator[str]:
    """Totals that do not come out, each as a sentence that holds the figures."""
    counted = totals.counted
    yield from (f"the hold {name} cannot be read" for name in totals.malformed)
    if {"held", "sold"} <= counted.keys():
        if (counted["held"], counted["sold"]) != (totals.held, totals.sold):
            yield (
                f"the store counts {counted['held']} held and {counted['sold']} sold, "
                f"its holds add up to {totals.held} and {totals.sold}"
            )
        if counted.get("reservations") != totals.reservations:
            yield f"the store counts {counted.get('reservations')} reservations and has {totals.reservations} holds"
        if "quantity" in counted and counted["quantity"] != counted.get("left", 0) + counted["held"] + counted["sold"]:
            yield f"the store's counters do not add up: {counted}"
    if totals.buyers != totals.buyers_counted:
        wrong = sorted(set(totals.buyers.items()) ^ set(totals.buyers_counted.items()))
        yield f"units counted for buyers differ from their holds: {wrong[:10]}"
    if counted.get("quantity") != (expected := expected_terms(item_id=item_id).quantity):
        yield f"the store has a quantity of {counted.get('quantity')}, PostgreSQL of {expected}"
    # One statement, so that both figures are of the same instant.
    item = SaleItem.objects.annotate(
        counting=Sum(
            "order_lines__units",
            filter=Q(order_lines__order__status__in=LIVE) | Q(order_lines__order__units_back=False),
            default=0,
        )
    ).get(pk=item_id)
    if item.taken != item.counting:
        yield f"PostgreSQL counts {item.taken} as taken, its orders add up to {item.counting}"


def compare_holds(look: Look, holds: dict[UUID, Hold | None]) -> None:
    """Add the live holds to the look, each with its order."""
    live = {pk: hold for pk, hold in holds.items() if hold is not None and hold.state != "ended"}
    orders = orders_of(list(holds))
    alone = [pk for pk in live if pk not in orders]
    waiting = in_outbox(look.item_id) if alone else set()
    # Once more, after the outbox: an entry leaves it only when its order is committed.
    orders |= orders_of([pk for pk in alone if pk not in waiting])
    for reservation_id, hold in live.items():
        order = orders.get(reservation_id)
        wanted = wanted_of(order) if order else None
        if order is None and reservation_id in waiting:
            look.on_the_way += hold.units
        elif wanted is RestoreAs.HELD and hold.state == "held":
            look.held += hold.units
        elif wanted is RestoreAs.SOLD and hold.state == "sold":
            look.sold += hold.units
        else:
            look.settling += hold.units
            if order is None or not in_motion(order):
                look.differences.add(difference(reservation_id, order, hold))


def compare_orders(look: Look, *, report: Report) -> None:
    """Find the orders that should have a live hold and have none."""
    lines = OrderLine.objects.select_related("order").filter(
        Q(order__status__in=LIVE) | Q(order__units_back=False),
        sale_item_id=look.item_id,
        order__reservation_id__isnull=False,
    )
    total, done, last_id = lines.count(), 0, 0
    report(0, total)
    while batch := list(lines.filter(order_id__gt=last_id).order_by("order_id")[:BATCH_MAX]):
        orders = [line.order for line in batch]
        ids = [order.reservation_id for order in orders if order.reservation_id]
        holds = item_state.find_holds(item_id=look.item_id, reservation_ids=ids)
        missing = {pk for pk, hold in zip(ids, holds, strict=True) if hold is None or hold.state == "ended"}
        # Once more, after the holds: an order ends before its hold does.
        for order in orders_of(list(missing)).values():
            if wanted_of(order) is not RestoreAs.ENDED:
                hold = holds[ids.index(order.reservation_id)] if order.reservation_id else None
                look.differences.add(difference(order.reservation_id, order, hold))
        last_id, done = batch[-1].order_id, done + len(batch)
        report(min(done, total), total)


def orders_of(reservation_ids: Sequence[UUID]) -> dict[UUID | None, Order]:
    orders: QuerySet[Order] = Order.objects.filter(reservation_id__in=reservation_ids)
    return {order.reservation_id: order for order in orders} if reservation_ids else {}


def in_outbox(item_id: int) -> set[UUID]:
    """The reservations that wait in the outbox, as far as they can be read."""
    found: set[UUID] = set()
    for entry in outbox.read_all(item_id=item_id, count_max=100_000):
        try:
            found.add(UUID(entry.fields.get("reservation", "")))
        except ValueError:
            continue
    return found


def in_motion(order: Order) -> bool:
    """Whether the store will be told of the order's last move in a moment, or is overdue to be told."""
    if order.status == OrderStatus.AWAITING_PAYMENT or order.settled_at is not None or order.ended_at is None:
        return False
    return timezone.now() - order.ended_at < SETTLING


def difference(reservation_id: UUID | None, order: Order | None, hold: Hold | None) -> Difference:
    assert reservation_id is not None
    units = hold.units if hold else sum(line.units for line in order.lines.all()) if order else 0
    return Difference(
        reservation_id=reservation_id,
        order=order.status if order else "",
        hold=hold.state if hold else "",
        units=units,
    )
