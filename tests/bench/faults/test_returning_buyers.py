"""Buyers bring their receipts after a fault: each answer that is not one of the promised ones is named."""

from typing import cast

from bench.faults.history import UNKNOWN
from bench.faults.trial import bring_receipts
from bench.faults.wire.http_client import BROUGHT_BACK, ENDED, NOT_LOST, Answer, BuyerClient
from seckill.models import SaleItem


class Returning:
    """A buyer with a receipt for more units than the item has, and with the answers that the shop will give."""

    receipts = ("v1.1.2.3.1000000.5",)

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def bring_receipt(self, *, attempt: int) -> Answer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def broken_promises(item: SaleItem, *answers: Answer) -> list[str]:
    return bring_receipts([cast(BuyerClient, Returning(*answers))], item=item)


def test_a_receipt_may_be_accepted_or_find_its_units_gone_and_every_other_answer_is_named(item: SaleItem) -> None:
    for outcome in (BROUGHT_BACK, NOT_LOST, ENDED, "reservation_lost", "limit_reached"):
        assert broken_promises(item, Answer(outcome=outcome, status=409)) == []
    for outcome in ("too_many_attempts", "receipt_invalid", "receipt_of_another_buyer", "http_404"):
        wrong = broken_promises(item, Answer(outcome=outcome, status=400))
        assert wrong == [f"1 receipts were answered {outcome}"]


def test_a_receipt_is_brought_again_while_its_fate_is_unknown(item: SaleItem) -> None:
    away, back = Answer(outcome="unavailable", status=503), Answer(outcome=BROUGHT_BACK, status=201)
    assert broken_promises(item, Answer(outcome=UNKNOWN), away, back) == []
