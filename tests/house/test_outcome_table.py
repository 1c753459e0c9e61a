"""What each outcome is over HTTP. Written down a second time here, because clients rely on it."""

import re
from pathlib import Path

from seckill.outcomes import HTTP, Outcome

DESIGN = (Path(__file__).parents[2] / "docs" / "design.md").read_text()

# Outcome, status, and whether the client is asked to try again later.
TABLE = [
    ("unavailable", 503, True),
    ("already_reserved", 201, False),
    ("hold_ended", 409, False),
    ("paused", 409, True),
    ("not_open", 409, True),
    ("closed", 410, False),
    ("sold_out", 410, False),
    ("held_by_others", 409, True),
    ("limit_reached", 409, False),
    ("too_few_left", 409, False),
    ("reserved", 201, False),
]


def test_every_outcome_has_its_status_in_the_order_of_the_table() -> None:
    assert [word for word, _, _ in TABLE] == [outcome.value for outcome in Outcome]
    assert list(HTTP) == list(Outcome)
    for word, status, again in TABLE:
        answer = HTTP[Outcome(word)]
        assert (answer.status, answer.retry_after_seconds is not None) == (status, again), word
        assert str(answer.title), word
        assert str(answer.detail), word


def test_the_design_has_the_same_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (\d{3})([^|]*) \|$", DESIGN, re.MULTILINE)
    assert [(word, int(status), "Retry-After" in more) for word, status, more in rows] == TABLE
