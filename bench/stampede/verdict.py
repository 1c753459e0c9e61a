"""The verdict: what the shop told its buyers, held against what stands in PostgreSQL and in the reservation store.

Everything about the herd is counted by the ids of its own reservations, so that other buyers of the same item, who may
come and go meanwhile, change nothing. Whether the item was oversold is asked of the item as a whole.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from bench.stampede.cross_check import Line, balanced_books, buyers_above_limit, duplicates, lines_of
from bench.stampede.plan import NO_ANSWER, NOT_SENT, Answer, Call, Kind
from bench.stampede.rush import Rush
from orders.models import OrderStatus
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import Outcome

# Words after which nobody knows whether the call took effect.
DOUBTFUL = {NO_ANSWER, Outcome.UNAVAILABLE.value}
# Words that say that the units have run out, which those of an unlimited item never do.
RAN_OUT = {Outcome.SOLD_OUT.value, Outcome.HELD_BY_OTHERS.value, Outcome.TOO_FEW_LEFT.value}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures. `kept` says whether every promise was kept.

    `oversold`, `unsold` and `left` are units, the other counts are reservations, buyers or calls. `unsold` is what
    nobody got although enough was asked for; None where that says nothing. `broken` names each invariant that does not
    hold.
    """

    item_id: int
    quantity: int | None
    buyers: int
    asked: int
    repeated: int
    asked_twice: int
    retried: int
    words: dict[str, int]
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
    broken: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        return not (self.oversold or self.lost or self.duplicated or self.broken)


@dataclass(frozen=True, slots=True)
class Told:
    """What the buyers heard. `yes` is reservation id → its first yes; `doubtful` are ids that nobody can be sure of."""

    calls: Mapping[int, Call]
    answers: Sequence[Answer]
    yes: Mapping[str, Answer]
    doubtful: Sequence[str]
    contradicted: int


def told_by(*, chains: Sequence[Sequence[Call]], answers: Sequence[Answer]) -> Told:
    """Put the answers together by reservation. A call whose process died is in doubt as well."""
    calls = {call.index: call for chain in chains for call in chain}
    yes: dict[str, Answer] = {}
    contradicted = 0
    for answer in sorted(answers, key=lambda answer: answer.answered_s):
        if not answer.is_yes:
            continue
        call, first = calls[answer.index], yes.setdefault(answer.reservation_id, answer)
        same = (answer.units, answer.expires_at) == (first.units, first.expires_at)
        if answer.reservation_id != call.reservation_id or answer.units != call.units or not same:
            contradicted += 1
    answered = {answer.index for answer in answers if answer.word not in DOUBTFUL}
    doubtful = {call.reservation_id for call in calls.values() if call.index not in answered} - yes.keys()
    return Told(calls=calls, answers=answers, yes=yes, doubtful=sorted(doubtful), contradicted=contradicted)


def accepted_in_doubt(*, item_id: int, doubtful: Sequence[str]) -> list[str]:
    """Those reservations that the store accepted although the buyer never heard it: they must become orders too."""
    return [text for text in doubtful if ledger.find_hold(item_id=item_id, reservation_id=UUID(text)) is not None]


def verdict_on(
    *,
    item: SaleItem,
    told: Told,
    rush: Rush,
    seen_s: Mapping[str, float],
    accepted: Sequence[str],
    left_before: int | None,
) -> Verdict:
    """The verdict, to be asked for once the orders had their time to arrive.

    `seen_s` is when each order was seen in PostgreSQL; `accepted` are the reservations in doubt that the store
    accepted.
    """
    lines = lines_of(item_id=item.pk, reservation_ids=sorted({call.reservation_id for call in told.calls.values()}))
    kinds = Counter(call.kind for call in told.calls.values())
    words = Counter(answer.word for answer in told.answers)
    sent = [answer for answer in told.answers if answer.word != NOT_SENT]
    firsts = [answer for answer in sent if told.calls[answer.index].kind is Kind.FIRST]
    quick = sorted(answer.first_try_seconds for answer in firsts)
    bought = [reservation_id for reservation_id in told.yes if keeps_promise(told.yes[reservation_id], lines)]
    books = balanced_books(item)
    last_yes_s = max((answer.answered_s for answer in told.yes.values()), default=rush.started_s)
    last_order_s = max(
        (seen_s[reservation_id] for reservation_id in told.yes if reservation_id in seen_s), default=None
    )
    demand = sum(told.calls[answer.index].units for answer in firsts)
    enough_asked = left_before is not None and demand >= left_before
    left = books.counters.left if books.counters else None
    return Verdict(
        item_id=item.pk,
        quantity=item.quantity,
        buyers=kinds[Kind.FIRST],
        asked=len(sent),
        repeated=kinds[Kind.REPEAT],
        asked_twice=kinds[Kind.SECOND],
        retried=sum(answer.tries > 1 for answer in sent),
        words=dict(words.most_common()),
        told_yes=len(told.yes),
        told_yes_units=sum(answer.units for answer in told.yes.values()),
        persisted=len(bought),
        oversold=books.oversold,
        lost=len(told.yes) - len(bought),
        duplicated=duplicates(lines) + buyers_above_limit(item),
        unsold=left if enough_asked else None,
        left=left,
        in_doubt=len(told.doubtful),
        in_doubt_persisted=sum(reservation_id in lines for reservation_id in told.doubtful),
        not_sent=words[NOT_SENT],
        seconds=rush.ended_s - rush.started_s,
        calls_per_second=len(sent) / max(rush.ended_s - rush.started_s, 0.001),
        seconds_to_sell_out=last_yes_s - rush.started_s if left == 0 and told.yes else None,
        seconds_to_last_order=max(0.0, last_order_s - last_yes_s) if last_order_s is not None else None,
        p50_ms=1000 * percentile(quick, 0.50),
        p99_ms=1000 * percentile(quick, 0.99),
        broken=[*books.broken, *broken_words(item=item, told=told, lines=lines, accepted=accepted, rush=rush)],
    )


def keeps_promise(yes: Answer, lines: Mapping[str, Line]) -> bool:
    """Whether the yes became an order of as many units. One that the buyer let expire was kept by the shop."""
    line = lines.get(yes.reservation_id)
    return line is not None and line.units == yes.units and line.status != OrderStatus.REJECTED


def broken_words(
    *, item: SaleItem, told: Told, lines: Mapping[str, Line], accepted: Sequence[str], rush: Rush
) -> list[str]:
    """The answers that should not have been given, in plain words."""
    units_of_buyer: Counter[int] = Counter()
    for reservation_id in {*told.yes, *accepted}:
        if reservation_id in lines:
            units_of_buyer[lines[reservation_id].buyer_id] += lines[reservation_id].units
    refused = [(told.calls[answer.index], answer.word) for answer in told.answers if not answer.is_yes]
    below_limit = sum(
        word == Outcome.LIMIT_REACHED and units_of_buyer[call.buyer_id] + call.units <= item.per_buyer_max
        for call, word in refused
    )
    found = {
        "repeated calls got another reservation than the first": told.contradicted,
        "buyers below their limit were told limit_reached": below_limit,
        "buyers were told that an unlimited item ran out": sum(
            item.quantity is None and word in RAN_OUT for _call, word in refused
        ),
        "reservations were refused and became orders all the same": sum(
            call.reservation_id in lines and call.reservation_id not in told.yes and word not in DOUBTFUL
            for call, word in refused
        ),
        "answers were neither a yes nor a refusal of the shop": sum(
            word not in OUTCOMES and word not in (NO_ANSWER, NOT_SENT) for _call, word in refused
        ),
        "reservations were accepted, never told to the buyer, and have no order": sum(
            reservation_id not in lines for reservation_id in accepted
        ),
        "processes of the herd died": rush.died,
    }
    return [f"{count} {what}" for what, count in found.items() if count]


OUTCOMES = {outcome.value for outcome in Outcome}


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed; 0 where there is none."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else 0.0
