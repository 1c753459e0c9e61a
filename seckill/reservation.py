"""Reserving: the one function behind the API and behind the page that works without JavaScript.

In an event loop it is `reserve_in_pipeline`, which asks the same script in the same way.
"""

import time
from typing import Any

from seckill import ledger
from seckill.live.answer_counts import answer_counts
from seckill.outbox import doorbell
from seckill.outcomes import Outcome
from seckill.passes.passes import Pass
from seckill.store.client import StoreUnreachable
from seckill.store.pipeline.asking import Pipelines
from shop import failpoints
from shop.times.timestamps import now_ms
from shop.tracing.steps import steps

ACCEPTED = (Outcome.RESERVED, Outcome.ALREADY_RESERVED)


def reserve(*, pass_: Pass, units: int) -> ledger.Reservation:
    """Hold `units` of the pass's item for its buyer, or say why not. Repeating it with the same pass is safe.

    One round trip to the reservation store and no SQL. If the store does not answer, the outcome is `unavailable`, and
    whether the units are held is unknown until the same call is repeated. If units are held, a drain of the outbox
    is requested.
    """
    failpoints.reach("reserve.before_script")
    began_s = time.time()
    try:
        reservation = followed_up(ledger.reserve(**asked(pass_, units)), pass_, began_s=began_s)
    except StoreUnreachable:
        reservation = unavailable()
    answer_counts.add(pass_.item_id, reservation.outcome)
    return reservation


async def reserve_in_pipeline(pipelines: Pipelines, *, pass_: Pass, units: int) -> ledger.Reservation:
    """`reserve`, from an event loop; the caller counts the answer. Raises ServerNotKnown, before anything is sent."""
    failpoints.reach("reserve.before_script")
    began_s = time.time()
    try:
        reservation = await ledger.reserve_in_pipeline(pipelines, **asked(pass_, units))
    except StoreUnreachable:
        return unavailable()
    return followed_up(reservation, pass_, began_s=began_s)


def asked(pass_: Pass, units: int) -> dict[str, Any]:
    return {
        "item_id": pass_.item_id,
        "reservation_id": pass_.reservation_text,
        "buyer_id": pass_.buyer_id,
        "units": units,
    }


def unavailable() -> ledger.Reservation:
    """The answer where the store gives none. It is logged for all calls together (seckill/store/failures.py)."""
    return ledger.Reservation(Outcome.UNAVAILABLE, now_ms=now_ms())


def followed_up(reservation: ledger.Reservation, pass_: Pass, *, began_s: float) -> ledger.Reservation:
    failpoints.reach("reserve.after_script")
    steps.note(pass_.reservation_id, "reserve", began=began_s, item=pass_.item_id, outcome=reservation.outcome)
    if reservation.outcome in ACCEPTED:
        doorbell.request_drain(pass_.item_id)
    return reservation
