"""Each request and each answer is in the file before the next step, so that a run which is cut short leaves them."""

import json
from pathlib import Path

from bench.faults.history import Action, History

NAMES = {"trial": "trial", "client": "buyer-1", "reservation_id": "r-1", "buyer_id": 7}


def test_an_answer_belongs_to_its_request(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    call = history.add_request(action=Action.RESERVE, units=2, **NAMES)
    history.add_answer(
        call=call, action=Action.RESERVE, outcome="reserved", status=201, units=2, id_in_answer="r-1", **NAMES
    )
    history.close()

    request, answer = history.of("trial")
    assert history.of("another") == []
    assert not request.is_answer
    assert answer.is_answer
    assert answer.is_yes
    assert answer.call == request.call
    assert answer.at_s >= request.at_s


def test_each_event_is_in_the_file_before_the_next_step(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.add_request(action=Action.PAY, units=0, **NAMES)
    history.add_request(action=Action.CANCEL, units=0, **NAMES)

    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["pay", "cancel"]
    assert {json.loads(line)["buyer_id"] for line in lines} == {7}
    history.close()
