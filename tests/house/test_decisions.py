"""docs/decisions.md is by topic, and an entry is short: date, choice, reason, what was refused."""

import re
from pathlib import Path

DECISIONS = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()
LINES_MAX = 8

ENTRIES = [part for part in DECISIONS.split("\n\n") if part.startswith("**")]


def test_an_entry_has_a_date_and_eight_lines_at_most() -> None:
    assert len(ENTRIES) > 50
    for entry in ENTRIES:
        assert re.match(r"\*\*[^*]+\*\* · \d{4}-\d\d-\d\d\. ", entry.replace("\n", " ")), entry
        assert entry.count("\n") < LINES_MAX, entry


def test_the_table_on_top_has_every_topic() -> None:
    topics = re.findall(r"(?m)^## (.+)$", DECISIONS)
    assert re.findall(r"(?m)^\| \[([^]]+)\]\(#", DECISIONS) == topics
