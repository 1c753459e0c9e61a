"""The verdict on one item: what the shop told its buyers, compared with PostgreSQL and the reservation store.

The calls of a run are counted by the ids of their reservations, so that other buyers of the same item make no
difference. Whether the item was oversold is a question about the whole item.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Q, Sum
from django.utils import timezone

from bench.stampede.buyer_answers import NO_FALSE_NOS, BuyerAnswers
from bench.stampede.cross_check import Line, buyers_above_limit, compare_stores, duplicates, lines_of
from bench.stampede.plan import NO_ANSWER, NOT_SENT, Answer, CallKind
from orders.models import OrderLine, OrderStatus
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome

# Answers that mean that there are not enough units, which is never true of an unlimited item; and those of a sale that
# does not sell now.
RAN_OUT = {Outcome.SOLD_OUT.value, Outcome.HELD_BY_OTHERS.value, Outcome.TOO_FEW_LEFT.value}
NOT_SELLING = {Outcome.PAUSED.value, Outcome.NOT_OPEN.value, Outcome.CLOSED.value}
OUTCOMES = {outcome.value for outcome in Outcome}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one item and a whole run have alike.

    `oversold`, `unsold` and `left` are units, the other counts are reservations, buyers or calls. `unsold` are units
    that nobody got although enough were asked for; None if too few were asked for. `told_unavailable` are buyers who
    were told to repeat their call, and `seconds_unavailable` is the longest time between the first and the last such
    answer for one item. `violations` names every other promise or invariant that does not hold.
    """

    quantity: int | None
    buyers: int
    told_yes: int
    told_yes_units: int
    persisted: int
    oversold: int
    lost: int
    duplicated: int
    unsold: int | None
    left: int | None
    in_doubt: int
    in_doubt_persisted: int
    told_unavailable: int
    seconds_unavailable: float | None
    seconds_to_sell_out: float | None
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVerdict(Figures):
    """The figures of one item."""

    item_id: int


def verdict_on_item(
    *, item: SaleItem, heard: BuyerAnswers, accepted: Sequence[str], left_before: int | None, started_s: float
) -> ItemVerdict:
    """The verdict, once the orders had time to arrive. `accepted` are those in doubt that the store accepted."""
    lines = lines_of(item_id=item.pk, reservation_ids=sorted({call.reservation_id for call in heard.calls.values()}))
    sent = [answer for answer in heard.answers if answer.outcome != NOT_SENT]
    firsts = [call for call in heard.calls.values() if call.kind is CallKind.FIRST]
    persisted = [
        yes for yes in heard.yes.values() if keeps_promise(yes, lines, buyer_id=heard.calls[yes.index].buyer_id)
    ]
    stores = compare_stores(item)
    left = stores.counters.left if stores.counters else None
    last_yes_s = max((answer.answered_s for answer in heard.yes.values()), default=started_s)
    demand = sum(call.units for answer in sent if (call := heard.calls[answer.index]).kind is CallKind.FIRST)
    enough_asked = left_before is not None and demand >= left_before
    unavailable_s = [time_s for answer in sent for time_s in answer.unavailable_s]
    return ItemVerdict(
        item_id=item.pk,
        quantity=item.quantity,
        buyers=len(firsts),
        told_yes=len(heard.yes),
        told_yes_units=sum(answer.units for answer in heard.yes.values()),
        persisted=len(persisted),
        oversold=stores.oversold,
        lost=len(heard.yes) - len(persisted),
        duplicated=duplicates(lines) + buyers_above_limit(item),
        unsold=left if enough_asked else None,
        left=left,
        in_doubt=len(heard.in_doubt),
        in_doubt_persisted=sum(reservation_id in lines for reservation_id in heard.in_doubt),
        told_unavailable=len({heard.calls[answer.index].buyer_id for answer in sent if answer.unavailable_s}),
        seconds_unavailable=max(unavailable_s) - min(unavailable_s) if unavailable_s else None,
        seconds_to_sell_out=last_yes_s - started_s if left == 0 and heard.yes else None,
        violations=[
            *stores.violations,
            *find_violations(item=item, heard=heard, lines=lines, accepted=accepted),
            *false_refusals(item=item, heard=heard, left=left, started_s=started_s),
        ],
    )


def keeps_promise(yes: Answer, lines: Mapping[str, Line], *, buyer_id: int | None) -> bool:
    """Whether the yes became an order of this buyer for as many units, even one that expired unpaid."""
    line = lines.get(yes.reservation_id)
    if line is None or line.status == OrderStatus.REJECTED:
        return False
    return (line.buyer_id, line.units) == (buyer_id, yes.units)


def find_violations(
    *, item: SaleItem, heard: BuyerAnswers, lines: Mapping[str, Line], accepted: Sequence[str]
) -> list[str]:
    """Answers that should not have been given, and orders that are missing."""
    units_of_buyer: Counter[int] = Counter()
    for reservation_id in {*heard.yes, *accepted}:
        if reservation_id in lines:
            units_of_buyer[lines[reservation_id].buyer_id] += lines[reservation_id].units
    refused = [(heard.calls[answer.index], answer.outcome) for answer in heard.answers if not answer.is_yes]
    below_limit = sum(
        outcome == Outcome.LIMIT_REACHED and units_of_buyer[call.buyer_id] + call.units <= item.per_buyer_max
        for call, outcome in refused
    )
    found = {
        "repeated calls got another reservation than the first": heard.inconsistent,
        "calls were refused after a yes for the same pass": heard.false_nos,
        "buyers below their limit were told limit_reached": below_limit,
        "buyers were told that an unlimited item ran out": sum(
            item.quantity is None and outcome in RAN_OUT for _call, outcome in refused
        ),
        "reservations were refused and became orders all the same": sum(
            call.reservation_id in lines and call.reservation_id not in heard.yes and outcome not in NO_FALSE_NOS
            for call, outcome in refused
        ),
        "answers were neither a yes nor a refusal by the shop": sum(
            outcome not in OUTCOMES and outcome not in (NO_ANSWER, NOT_SENT) for _call, outcome in refused
        ),
        "reservations were accepted, never told to the buyer, and have no order": sum(
            reservation_id not in lines for reservation_id in accepted
        ),
    }
    return [f"{count} {what}" for what, count in found.items() if count]


def false_refusals(*, item: SaleItem, heard: BuyerAnswers, left: int | None, started_s: float) -> list[str]:
    """Refusals that were never true of the item: it was open, and had units that nobody had reserved until the end.

    Where staff have changed the sale meanwhile, they may have been true at their time.
    """
    if was_changed_since(item, started_s=started_s):
        return []
    closed = timezone.now() >= item.sale.closes_at
    spare = never_reserved(item, left=left)
    refused = [(heard.calls[answer.index], answer.outcome) for answer in heard.answers]
    found = {
        "buyers were told that the sale is paused, not open or over, while it was open": sum(
            outcome in NOT_SELLING and not (closed and outcome == Outcome.CLOSED) for _call, outcome in refused
        ),
        f"buyers were told that units are lacking, of which {spare} were never reserved": sum(
            outcome in RAN_OUT and call.units <= spare for call, outcome in refused
        ),
    }
    return [f"{count} {what}" for what, count in found.items() if count]


def never_reserved(item: SaleItem, *, left: int | None) -> int:
    """Units that were on sale all the time. Those that were reserved and came back are not among them.

    None with a waiting list: there, units that are left may be for somebody else.
    """
    if item.quantity is None or left is None or item.sale.waiting_list:
        return 0
    reserved = OrderLine.objects.filter(sale_item=item).aggregate(units=Sum("units", default=0))["units"]
    return max(0, min(left, item.quantity - int(reserved)))


def was_changed_since(item: SaleItem, *, started_s: float) -> bool:
    """Whether a change of staff took effect, or may have, since this time of the monotonic clock."""
    since = timezone.now() - timedelta(seconds=time.monotonic() - started_s)
    changes = SaleChange.objects.filter(item=item)
    return changes.filter(Q(finished_at=None) | Q(finished_at__gte=since)).exists()
