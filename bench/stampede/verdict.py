"""The verdict on a run: the figures of its items together (bench/stampede/item_verdict.py), and how fast it was."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.percentiles import percentile
from bench.stampede.buyer_answers import BuyerAnswers
from bench.stampede.item_verdict import Figures, ItemVerdict, verdict_on_item
from bench.stampede.plan import NO_ANSWER, NOT_SENT, CallKind
from bench.stampede.rush import RushResult
from seckill.models import SaleItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Figures):
    """The figures of a run. `kept` says whether every promise was kept; `proves_nothing`, that there was none to keep,
    although there were units that buyers asked for.

    `item_id` is None if there are several items; `items` has the figures of each.
    """

    item_id: int | None
    asked: int
    repeated: int
    asked_twice: int
    retried: int
    answer_counts: dict[str, int]
    not_sent: int
    seconds: float
    calls_per_second: float
    seconds_to_last_order: float | None
    p50_ms: float
    p99_ms: float
    proves_nothing: bool
    items: list[ItemVerdict] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        return not (self.oversold or self.lost or self.duplicated or self.violations)


def verdict_on(
    *,
    items: Sequence[SaleItem],
    heard: Mapping[int, BuyerAnswers],
    rush: RushResult,
    seen_s: Mapping[str, float],
    accepted: Mapping[int, Sequence[str]],
    left_before: Mapping[int, int | None],
) -> Verdict:
    """The verdict, once the orders had time to arrive.

    `seen_s` is when each order was seen in PostgreSQL; `accepted` are the reservations in doubt that the store
    accepted, by item, and `left_before` the units that it had.
    """
    found = [
        verdict_on_item(
            item=item,
            heard=heard[item.pk],
            accepted=accepted[item.pk],
            left_before=left_before[item.pk],
            started_s=rush.started_s,
        )
        for item in items
    ]
    calls = {index: call for one in heard.values() for index, call in one.calls.items()}
    yes = {reservation_id: answer for one in heard.values() for reservation_id, answer in one.yes.items()}
    kinds = Counter(call.kind for call in calls.values())
    answer_counts = Counter(answer.outcome for answer in rush.answers)
    sent = [answer for answer in rush.answers if answer.outcome != NOT_SENT]
    first_seconds = sorted(answer.first_try_seconds for answer in sent if calls[answer.index].kind is CallKind.FIRST)
    last_yes_s = max((answer.answered_s for answer in yes.values()), default=rush.started_s)
    last_order_s = max((seen_s[reservation_id] for reservation_id in yes if reservation_id in seen_s), default=None)
    left, seconds = total(one.left for one in found), rush.ended_s - rush.started_s
    return Verdict(
        item_id=items[0].pk if len(items) == 1 else None,
        quantity=total(item.quantity for item in items),
        buyers=kinds[CallKind.FIRST],
        asked=len(sent),
        repeated=kinds[CallKind.REPEAT],
        asked_twice=kinds[CallKind.SECOND],
        retried=sum(answer.tries > 1 for answer in sent),
        answer_counts=dict(answer_counts.most_common()),
        told_yes=len(yes),
        told_yes_units=sum(one.told_yes_units for one in found),
        persisted=sum(one.persisted for one in found),
        oversold=sum(one.oversold for one in found),
        lost=sum(one.lost for one in found),
        duplicated=sum(one.duplicated for one in found),
        # Of the items of which enough were asked for.
        unsold=sum(one.unsold or 0 for one in found) if any(one.unsold is not None for one in found) else None,
        left=left,
        in_doubt=sum(one.in_doubt for one in found),
        in_doubt_persisted=sum(one.in_doubt_persisted for one in found),
        told_unavailable=sum(one.told_unavailable for one in found),
        seconds_unavailable=max(
            (one.seconds_unavailable for one in found if one.seconds_unavailable is not None), default=None
        ),
        not_sent=answer_counts[NOT_SENT],
        seconds=seconds,
        calls_per_second=sum(answer.outcome != NO_ANSWER for answer in sent) / max(seconds, 0.001),
        seconds_to_sell_out=last_yes_s - rush.started_s if left == 0 and yes else None,
        seconds_to_last_order=max(0.0, last_order_s - last_yes_s) if last_order_s is not None else None,
        p50_ms=1000 * percentile(first_seconds, 0.50),
        p99_ms=1000 * percentile(first_seconds, 0.99),
        proves_nothing=not yes
        and not any(one.in_doubt_persisted for one in found)
        and any(could_sell(heard[one.item_id], left_before=left_before[one.item_id]) for one in found),
        violations=violations_of(found, died=rush.died),
        items=found,
    )


def could_sell(heard: BuyerAnswers, *, left_before: int | None) -> bool:
    """Whether there were as many units as some buyer wanted; None if the item is unlimited."""
    units = [call.units for call in heard.calls.values()]
    return bool(units) and (left_before is None or left_before >= min(units))


def violations_of(found: Sequence[ItemVerdict], *, died: int) -> list[str]:
    """Those of all items, each with the item's number if there are several."""
    several = len(found) > 1
    named = [f"sale item {one.item_id}: {what}" if several else what for one in found for what in one.violations]
    return [*named, *([f"{died} client processes died"] if died else [])]


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum, or None if one of them is not known."""
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)
