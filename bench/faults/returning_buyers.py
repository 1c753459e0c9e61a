"""Buyers who come back after a fault with the receipts of their yeses."""

import threading
from collections import Counter
from collections.abc import Sequence

from bench.faults.checker import GONE
from bench.faults.payer import Retry, known
from bench.faults.wire.http_client import BROUGHT_BACK, ENDED, NOT_LOST, Answer, BuyerClient
from seckill import ledger
from seckill.models import SaleItem

# For all of them together: the items are back on sale by then.
SECONDS_MAX = 60.0
# A refusal is repeated so often while units are left: some may have come back just after it.
TRIES = 3
# No other answer to a receipt is right in the end.
RIGHT_ANSWERS = {BROUGHT_BACK, NOT_LOST, ENDED, *GONE}


def bring_receipts(clients: Sequence[BuyerClient], *, item: SaleItem) -> list[str]:
    """Each brings its receipt, needed or not. Returns the promises that were broken, in words."""
    retry = Retry(seconds=SECONDS_MAX, stop=threading.Event())
    answers = [last_answer(client, retry, item=item) for client in clients if client.receipts]
    unanswered = sum(answer is None for answer in answers)
    outcomes = Counter(answer.outcome for answer in answers if answer is not None)
    counts = {
        "receipts had no answer": unanswered,
        "receipts were refused though their units were left": outcomes.pop(WRONGLY_REFUSED, 0),
    }
    counts |= {f"receipts were answered {word}": outcomes[word] for word in sorted(outcomes.keys() - RIGHT_ANSWERS)}
    return [f"{count} {what}" for what, count in counts.items() if count]


WRONGLY_REFUSED = "wrongly_refused"


def last_answer(client: BuyerClient, retry: Retry, *, item: SaleItem) -> Answer | None:
    for _ in range(TRIES):
        answer = retry.until(known, lambda attempt: client.bring_receipt(attempt=attempt))
        if answer is None or answer.outcome != "reservation_lost":
            return answer
        units = int(client.receipts[0].split(".")[4])
        counters = ledger.read(item_id=item.pk)
        if counters is None or (counters.left or 0) < units:
            return answer
    return Answer(outcome=WRONGLY_REFUSED)
