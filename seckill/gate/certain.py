"""What reserve.lua is certain to answer, by a snapshot of the item. Only refusals: only the script says yes."""

from seckill.gate.snapshots import Away, Clock, Snapshot
from seckill.ledger import Counters, Reservation
from seckill.outcomes import Outcome
from seckill.passes import Pass
from seckill.timestamps import now_ms


def certain_refusal(snapshot: Snapshot | Away, *, pass_: Pass, now_s: float) -> Outcome | None:
    """The refusal that the script would give, or None if the script must be asked."""
    # As `reservation.reserve` answers when the store does not.
    if isinstance(snapshot, Away) or snapshot.counters is None:
        return Outcome.UNAVAILABLE
    # Before anything else the script looks whether this pass has had its answer.
    if snapshot.known is None or snapshot.known.has(pass_.reservation_id):
        return None
    return certain_outcome(snapshot.counters, clock=snapshot.clock, now_s=now_s)


def refused(snapshot: Snapshot | Away, outcome: Outcome, *, now_s: float) -> Reservation:
    """The script's whole answer with this refusal."""
    if isinstance(snapshot, Away):
        return Reservation(outcome, now_ms=now_ms())
    store_ms = snapshot.clock.earliest_ms(now_s)
    opens_ms = snapshot.counters.opens_ms if snapshot.counters else 0
    return Reservation(outcome, now_ms=store_ms, retry_ms=max(opens_ms - store_ms, 0))


def certain_outcome(counters: Counters, *, clock: Clock, now_s: float) -> Outcome | None:
    """The refusal of any new reservation, whoever asks. The checks are in the order of the script.

    None also around the opening and the end, where the store's clock is not known to the millisecond.
    """
    if counters.state == "paused":
        return Outcome.PAUSED
    if clock.latest_ms(now_s) < counters.opens_ms:
        return Outcome.NOT_OPEN
    if clock.earliest_ms(now_s) < counters.opens_ms:
        return None
    if clock.earliest_ms(now_s) >= counters.closes_ms:
        return Outcome.CLOSED
    if clock.latest_ms(now_s) >= counters.closes_ms:
        return None
    if counters.left is None or counters.left > 0:
        return None
    return Outcome.HELD_BY_OTHERS if counters.held > 0 else Outcome.SOLD_OUT
