"""The history outlives the run that wrote it, also one that was cut short."""

from pathlib import Path

import pytest

from bench.faults.history import History, Kind, read

NAMES = {"trial": "trial", "client": "buyer-1", "reservation_id": "r-1", "buyer_id": 7}


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path / "history.jsonl")
    call = history.intent(kind=Kind.RESERVE, units=2, **NAMES)
    history.answer(call=call, kind=Kind.RESERVE, word="reserved", status=201, units=2, told_id="r-1", **NAMES)
    return history


def test_what_was_noted_is_read_back(history: History) -> None:
    history.close()
    intent, answer = read(history.path)
    assert [intent, answer] == history.events == history.of("trial")
    assert not intent.is_answer
    assert answer.is_answer
    assert answer.is_yes
    assert answer.call == intent.call
    assert answer.at_s >= intent.at_s


def test_each_event_is_in_the_file_before_the_next_step(history: History) -> None:
    assert len(list(read(history.path))) == 2
    history.close()


@pytest.mark.parametrize("kept", [1, 30, -1, -20])
def test_a_torn_last_line_is_passed_over(history: History, kept: int) -> None:
    history.close()
    first, second, _end = history.path.read_text().split("\n")
    history.path.write_text(f"{first}\n{second[:kept]}")
    assert list(read(history.path)) == history.events[:1]


def test_damage_in_the_middle_is_an_error(history: History) -> None:
    history.close()
    first, second, _end = history.path.read_text().split("\n")
    history.path.write_text(f"{first[:30]}\n{second}\n")
    with pytest.raises(ValueError, match="line 1"):
        list(read(history.path))
