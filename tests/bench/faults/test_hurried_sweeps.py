"""The sweeps of ten minutes, sent within less time: as many as beat would send, through beat's own scheduler."""

from typing import Any, ClassVar

import pytest
from celery import current_app

from bench.faults.kinds import broker


class RecordedScheduler:
    """Instead of the one that sends."""

    sent: ClassVar[list[str]] = []

    def __init__(self, app: object) -> None:
        self.schedule = {"often": "often", "seldom": "seldom"}

    def apply_async(self, entry: str, **options: Any) -> None:
        assert options == {"advance": False}
        self.sent.append(entry)


def test_as_many_are_sent_as_beat_sends_in_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    RecordedScheduler.sent.clear()
    monkeypatch.setattr(broker, "SweepScheduler", RecordedScheduler)
    # The apps' own sweeps are added when their tasks are imported, and not again.
    current_app.loader.import_default_modules()
    schedule = {"often": {"schedule": 1.0}, "seldom": {"schedule": 60.0}}
    monkeypatch.setitem(current_app.conf, "beat_schedule", schedule)
    sweeps = broker.Sweeps(hurry=20)
    for elapsed_seconds in (3.0, 10.0, 30.0, 30.0):
        sweeps.send_due(elapsed_seconds)
    assert (RecordedScheduler.sent.count("often"), RecordedScheduler.sent.count("seldom")) == (600, 10)
    assert sweeps.wanted == 610
