"""What a rehearsal has seen, and its report: numbers alone, which are kept and read in each reader's language."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.models import Rehearsal
from orders.rehearsal.crowd import AGAIN, NO_ANSWER, NOT_SENT, YES, Answer
from seckill.ledger import Counters

# Another number where a figure comes, goes or means something else: reports of another release are then not read.
FORM = 1
# So many columns fit on a phone; the step is the smallest with which they suffice.
COLUMNS_MAX = 40
STEPS_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
# Answers that are neither yes nor an honest no.
FAILED = (NO_ANSWER, "unavailable")


class Kept(NamedTuple):
    """The report of a rehearsal, and when that began."""

    started_at: datetime
    report: dict[str, Any]


def last_report(*, sale_id: int) -> Kept | None:
    rehearsals = Rehearsal.objects.filter(sale=sale_id, report__form=FORM)
    found = rehearsals.values_list("started_at", "report").first()
    return Kept(found[0], found[1] or {}) if found else None


class Sample(NamedTuple):
    """The shadows at one moment, `at_s` seconds after the opening. `sums_hold`: no unit is there twice, or gone."""

    at_s: float
    left: int
    held: int
    sold: int
    backlog: int
    sums_hold: bool

    @classmethod
    def of(cls, found: Iterable[Counters], *, at_s: float) -> "Sample":
        counters = list(found)
        return cls(
            at_s=round(at_s, 2),
            left=sum(each.left or 0 for each in counters),
            held=sum(each.held for each in counters),
            sold=sum(each.sold for each in counters),
            backlog=sum(each.backlog for each in counters),
            sums_hold=all(
                each.quantity is None or each.quantity == (each.left or 0) + each.held + each.sold for each in counters
            ),
        )


@dataclass(slots=True)
class Seen:
    """Times are of the monotonic clock."""

    starts_s: float = 0.0
    rush_ends_s: float = 0.0
    written_s: float = 0.0
    answers: list[Answer] = field(default_factory=list)
    late_answers: list[Answer] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    busy_seconds: float = 0.0
    # Buyers who were told yes, and of whom the store knows nothing.
    lost: int = 0
    unpaid: int = 0
    still_held: int = 0
    return_seconds: float = 0.0

    def yes_ids(self) -> dict[int, list[UUID]]:
        """The reservations of buyers who were told yes, by shadow."""
        found: dict[int, list[UUID]] = {}
        for answer in self.answers:
            if is_yes(answer):
                found.setdefault(answer.item_id, []).append(UUID(answer.reservation_id))
        return found


def is_yes(answer: Answer) -> bool:
    return answer.word in (YES, AGAIN)


def has_failed(word: str) -> bool:
    """Whether it is no answer of the shop's own. A word `http_…` is a status without one."""
    return word in FAILED or word.startswith("http_")


def made_report(rehearsal: Rehearsal, seen: Seen) -> dict[str, Any]:
    seconds = sorted(answer.seconds for answer in seen.answers if answer.word not in (NO_ANSWER, NOT_SENT))
    rush_seconds = max(seen.rush_ends_s - seen.starts_s, 0.001)
    words = Counter(answer.word for answer in seen.answers)
    asked = len(seen.answers) - words[NOT_SENT]
    units = [units for _item_id, units in rehearsal.items]
    told = {item_id: len(ids) for item_id, ids in seen.yes_ids().items()}
    pairs = zip(rehearsal.shadow_ids, units, strict=True)
    last = seen.samples[-1]
    return {
        "form": FORM,
        "buyers": asked,
        "not_sent": rehearsal.buyers - asked,
        "units": None if None in units else sum(count or 0 for count in units),
        "words": dict(words.most_common()),
        "yes": words[YES] + words[AGAIN],
        "failed": sum(words[word] for word in words if has_failed(word)),
        "p50_ms": percentile_ms(seconds, 0.5),
        "p99_ms": percentile_ms(seconds, 0.99),
        "rush_seconds": round(rush_seconds, 2),
        "rate": round(len(seconds) / rush_seconds),
        "busy_percent": round(100 * seen.busy_seconds / rush_seconds),
        "excess": sum(max(told.get(item_id, 0) - count, 0) for item_id, count in pairs if count is not None),
        "sums_hold": all(sample.sums_hold for sample in seen.samples),
        "lost": seen.lost,
        "waiting": last.backlog,
        "write_seconds": round(max(seen.written_s - seen.rush_ends_s, 0.0), 1),
        "backlog_max": max(sample.backlog for sample in seen.samples),
        "unpaid": seen.unpaid,
        "still_held": seen.still_held,
        "return_seconds": round(seen.return_seconds, 1),
        "late": len(seen.late_answers),
        "late_yes": sum(is_yes(answer) for answer in seen.late_answers),
        **columns(seen, rush_seconds=rush_seconds),
        "course": thinned([[one.at_s, one.backlog, one.held, one.left] for one in seen.samples if one.at_s >= 0]),
    }


def columns(seen: Seen, *, rush_seconds: float) -> dict[str, Any]:
    """How many buyers were answered yes, no, or not at all, in each step of the rush."""
    step_seconds = next((step for step in STEPS_SECONDS if rush_seconds <= step * COLUMNS_MAX), STEPS_SECONDS[-1])
    count = int(rush_seconds / step_seconds) + 1
    found = [[0, 0, 0] for _ in range(count)]
    for answer in seen.answers:
        if answer.word != NOT_SENT:
            place = 0 if is_yes(answer) else 2 if has_failed(answer.word) else 1
            found[min(max(int((answer.at_s - seen.starts_s) / step_seconds), 0), count - 1)][place] += 1
    return {"step_seconds": step_seconds, "steps": found}


def thinned(rows: Sequence[list[float]]) -> list[list[float]]:
    """Each n-th of them and the last, so that a chart can show them."""
    step = len(rows) // COLUMNS_MAX + 1
    return [*rows[:-1][::step], *rows[-1:]]


def percentile_ms(seconds: Sequence[float], share: float) -> int:
    return round(1000 * seconds[min(int(share * len(seconds)), len(seconds) - 1)]) if seconds else 0
