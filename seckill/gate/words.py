"""What the gate answers, in one word each."""

from seckill.outcomes import Outcome

# Figures, and 304 for who has them.
LIVE, NOT_MODIFIED = "live", "not_modified"
# A pass, or the status of a reservation. The hot lane gives these.
GIVEN = "given"
# What depends on the item alone. Never a yes, and nothing that depends on the buyer.
REFUSALS = (
    Outcome.UNAVAILABLE,
    Outcome.PAUSED,
    Outcome.NOT_OPEN,
    Outcome.CLOSED,
    Outcome.SOLD_OUT,
    Outcome.HELD_BY_OTHERS,
)
WORDS = (LIVE, NOT_MODIFIED, *REFUSALS)
