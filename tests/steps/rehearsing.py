"""A rehearsal that is over: its report, and the row that keeps it."""

from typing import Any
from uuid import uuid4

from orders.models import Rehearsal
from orders.rehearsal.crowd import Answer
from orders.rehearsal.rehearsal_report import Sample, Seen, made_report
from seckill.models import SaleItem


def report_of(item: SaleItem, *, yes: int = 5, **more: Any) -> dict[str, Any]:
    """Of a rehearsal with 20 buyers and 5 units that went well, but for `more`."""
    rehearsal = Rehearsal(pk=1, sale=item.sale, buyers=20, items=[[item.pk, 5]])
    (shadow_id,) = rehearsal.shadow_ids
    words = ["reserved"] * yes + ["sold_out"] * (20 - yes)
    answers = [Answer(shadow_id, word, 0.02, 100.0 + n / 10, 1, str(uuid4())) for n, word in enumerate(words)]
    seen = Seen(starts_s=100.0, rush_ends_s=102.0, written_s=102.5, answers=answers, paid=3, unpaid=2)
    seen.samples = [Sample(at_s, 0, 2, 3, 0, True) for at_s in (0.5, 1.0, 8.0)]
    return {**made_report(rehearsal, seen), **more}


def was_rehearsed(item: SaleItem) -> Rehearsal:
    return Rehearsal.objects.create(sale=item.sale, buyers=20, status=Rehearsal.Status.DONE, report=report_of(item))
