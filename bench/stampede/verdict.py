"""The verdict: what the shop told its buyers, compared with PostgreSQL and the reservation store.

The calls of a run are counted by the ids of their reservations, so that other buyers of the same item make no
difference. Whether the item was oversold is a question about the whole item.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from bench.stampede.cross_check import Line, buyers_above_limit, compare_stores, duplicates, lines_of
from bench.stampede.plan import NO_ANSWER, NOT_SENT, Answer, Call, CallKind
from bench.stampede.rush import RushResult
from orders.models import OrderStatus
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import Outcome

# Answers after which it is unknown whether the call took effect.
IN_DOUBT = {NO_ANSWER, Outcome.UNAVAILABLE.value}
# Answers that mean that there are not enough units, which is never true of an unlimited item.
RAN_OUT = {Outcome.SOLD_OUT.value, Outcome.HELD_BY_OTHERS.value, Outcome.TOO_FEW_LEFT.value}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures. `kept` says whether every promise was kept.

    `oversold`, `unsold` and `left` are units, the other counts are reservations, buyers or calls. `unsold` are units
    that nobody got although enough were asked for; None if too few were asked for. `violations` names every other
    promise or invariant that does not hold.
    """

    item_id: int
    quantity: int | None
    buyers: int
    asked: int
    repeated: int
    asked_twice: int
    retried: int
    answer_counts: dict[str, int]
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
    not_sent: int
    seconds: float
    calls_per_second: float
    seconds_to_sell_out: float | None
    seconds_to_last_order: float | None
    p50_ms: float
    p99_ms: float
    violations: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        return not (self.oversold or self.lost or self.duplicated or self.violations)


@dataclass(frozen=True, slots=True)
class BuyerAnswers:
    """What the buyers were told. `yes` is reservation id → its first yes; `in_doubt` are ids without a sure answer.

    `inconsistent` counts yeses that differ from their call or from the first yes.
    """

    calls: Mapping[int, Call]
    answers: Sequence[Answer]
    yes: Mapping[str, Answer]
    in_doubt: Sequence[str]
    inconsistent: int


def collect_answers(*, chains: Sequence[Sequence[Call]], answers: Sequence[Answer]) -> BuyerAnswers:
    """Group the answers by reservation. A call whose process died is in doubt as well."""
    calls = {call.index: call for chain in chains for call in chain}
    yes: dict[str, Answer] = {}
    inconsistent = 0
    for answer in sorted(answers, key=lambda answer: answer.answered_s):
        if not answer.is_yes:
            continue
        call, first = calls[answer.index], yes.setdefault(answer.reservation_id, answer)
        same = (answer.units, answer.expires_at) == (first.units, first.expires_at)
        if answer.reservation_id != call.reservation_id or answer.units != call.units or not same:
            inconsistent += 1
    answered = {answer.index for answer in answers if answer.outcome not in IN_DOUBT}
    in_doubt = {call.reservation_id for call in calls.values() if call.index not in answered} - yes.keys()
    return BuyerAnswers(calls=calls, answers=answers, yes=yes, in_doubt=sorted(in_doubt), inconsistent=inconsistent)


def accepted_in_doubt(*, item_id: int, in_doubt: Sequence[str]) -> list[str]:
    """Reservations in doubt that the store accepted: they must become orders too."""
    return [text for text in in_doubt if ledger.find_hold(item_id=item_id, reservation_id=UUID(text)) is not None]


def verdict_on(
    *,
    item: SaleItem,
    heard: BuyerAnswers,
    rush: RushResult,
    seen_s: Mapping[str, float],
    accepted: Sequence[str],
    left_before: int | None,
) -> Verdict:
    """The verdict, once the orders had time to arrive.

    `seen_s` is when each order was seen in PostgreSQL; `accepted` are the reservations in doubt that the store
    accepted.
    """
    lines = lines_of(item_id=item.pk, reservation_ids=sorted({call.reservation_id for call in heard.calls.values()}))
    kinds = Counter(call.kind for call in heard.calls.values())
    answer_counts = Counter(answer.outcome for answer in heard.answers)
    sent = [answer for answer in heard.answers if answer.outcome != NOT_SENT]
    firsts = [answer for answer in sent if heard.calls[answer.index].kind is CallKind.FIRST]
    first_seconds = sorted(answer.first_try_seconds for answer in firsts)
    persisted = [reservation_id for reservation_id in heard.yes if keeps_promise(heard.yes[reservation_id], lines)]
    stores = compare_stores(item)
    last_yes_s = max((answer.answered_s for answer in heard.yes.values()), default=rush.started_s)
    last_order_s = max(
        (seen_s[reservation_id] for reservation_id in heard.yes if reservation_id in seen_s), default=None
    )
    demand = sum(heard.calls[answer.index].units for answer in firsts)
    enough_asked = left_before is not None and demand >= left_before
    left = stores.counters.left if stores.counters else None
    return Verdict(
        item_id=item.pk,
        quantity=item.quantity,
        buyers=kinds[CallKind.FIRST],
        asked=len(sent),
        repeated=kinds[CallKind.REPEAT],
        asked_twice=kinds[CallKind.SECOND],
        retried=sum(answer.tries > 1 for answer in sent),
        answer_counts=dict(answer_counts.most_common()),
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
        not_sent=answer_counts[NOT_SENT],
        seconds=rush.ended_s - rush.started_s,
        calls_per_second=len(sent) / max(rush.ended_s - rush.started_s, 0.001),
        seconds_to_sell_out=last_yes_s - rush.started_s if left == 0 and heard.yes else None,
        seconds_to_last_order=max(0.0, last_order_s - last_yes_s) if last_order_s is not None else None,
        p50_ms=1000 * percentile(first_seconds, 0.50),
        p99_ms=1000 * percentile(first_seconds, 0.99),
        violations=[
            *stores.violations,
            *find_violations(item=item, heard=heard, lines=lines, accepted=accepted, rush=rush),
        ],
    )


def keeps_promise(yes: Answer, lines: Mapping[str, Line]) -> bool:
    """Whether the yes became an order of as many units, even one that expired unpaid."""
    line = lines.get(yes.reservation_id)
    return line is not None and line.units == yes.units and line.status != OrderStatus.REJECTED


def find_violations(
    *, item: SaleItem, heard: BuyerAnswers, lines: Mapping[str, Line], accepted: Sequence[str], rush: RushResult
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
        "buyers below their limit were told limit_reached": below_limit,
        "buyers were told that an unlimited item ran out": sum(
            item.quantity is None and outcome in RAN_OUT for _call, outcome in refused
        ),
        "reservations were refused and became orders all the same": sum(
            call.reservation_id in lines and call.reservation_id not in heard.yes and outcome not in IN_DOUBT
            for call, outcome in refused
        ),
        "answers were neither a yes nor a refusal by the shop": sum(
            outcome not in OUTCOMES and outcome not in (NO_ANSWER, NOT_SENT) for _call, outcome in refused
        ),
        "reservations were accepted, never told to the buyer, and have no order": sum(
            reservation_id not in lines for reservation_id in accepted
        ),
        "client processes died": rush.died,
    }
    return [f"{count} {what}" for what, count in found.items() if count]


OUTCOMES = {outcome.value for outcome in Outcome}


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed; 0 if there are none."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else 0.0
