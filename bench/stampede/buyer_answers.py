"""The answers to the buyers of an item, by the ids of their reservations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from bench.stampede.plan import NO_ANSWER, NOT_SENT, UNAVAILABLE, Answer, Call
from seckill.items import holdings
from seckill.outcomes import Outcome

# Answers after which it is unknown whether the call took effect.
IN_DOUBT = {NO_ANSWER, UNAVAILABLE}
# A pass that was accepted may hear these, or its yes again: its hold has ended, or nobody knows.
NO_FALSE_NOS = IN_DOUBT | {NOT_SENT, Outcome.HOLD_ENDED.value}


@dataclass(frozen=True, slots=True)
class BuyerAnswers:
    """The answers to the buyers. `yes` is reservation id → its first yes; `in_doubt` are ids without a sure answer.

    `inconsistent` counts yeses that differ from their call or from the first yes, `false_nos` refusals of a pass to a
    call that was sent after its yes.
    """

    calls: Mapping[int, Call]
    answers: Sequence[Answer]
    yes: Mapping[str, Answer]
    in_doubt: Sequence[str]
    inconsistent: int
    false_nos: int


def collect_answers(
    *, item_ids: Sequence[int], chains: Sequence[Sequence[Call]], answers: Sequence[Answer]
) -> dict[int, BuyerAnswers]:
    """The answers to the buyers of each item. A call whose process died is in doubt as well."""
    item_of: dict[int, int] = {}
    calls: dict[int, dict[int, Call]] = {item_id: {} for item_id in item_ids}
    for chain in chains:
        for call in chain:
            item_of[call.index] = call.item_id
            calls[call.item_id][call.index] = call
    answers_of: dict[int, list[Answer]] = {item_id: [] for item_id in item_ids}
    for answer in answers:
        answers_of[item_of[answer.index]].append(answer)
    false_nos = count_false_nos(chains=chains, answers=answers)
    return {item_id: heard_by(calls[item_id], answers_of[item_id], false_nos=false_nos[item_id]) for item_id in calls}


def count_false_nos(*, chains: Sequence[Sequence[Call]], answers: Sequence[Answer]) -> Counter[int]:
    """How often a pass was refused after its yes, by item. In a chain each call is sent after the answer before it."""
    by_index = {answer.index: answer for answer in answers}
    counts: Counter[int] = Counter()
    for chain in chains:
        told_yes: set[str] = set()
        for call in chain:
            answer = by_index.get(call.index)
            if answer is None:
                continue
            if answer.is_yes:
                told_yes.add(call.reservation_id)
            elif call.reservation_id in told_yes and answer.outcome not in NO_FALSE_NOS:
                counts[call.item_id] += 1
    return counts


def heard_by(calls: Mapping[int, Call], answers: Sequence[Answer], *, false_nos: int) -> BuyerAnswers:
    """Group the answers of one item by reservation."""
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
    return BuyerAnswers(
        calls=calls, answers=answers, yes=yes, in_doubt=sorted(in_doubt), inconsistent=inconsistent, false_nos=false_nos
    )


def accepted_in_doubt(*, item_id: int, in_doubt: Sequence[str]) -> list[str]:
    """Reservations in doubt that the store accepted: they must become orders too."""
    return [text for text in in_doubt if holdings.find_hold(item_id=item_id, reservation_id=UUID(text)) is not None]
