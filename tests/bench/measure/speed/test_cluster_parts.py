"""The bench's part `cluster`: three primaries beside one store. Few calls; how fast they are decides no test."""

import contextlib
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.measure.speed.part import Server, WrongAnswer
from bench.measure.speed.parts import cluster_parts
from bench.measure.speed.parts.cluster_parts import Measured, Run, connected, figures_of
from bench.measure.speed.ratios import TARGETS, verdicts
from seckill.store import scripts
from seckill.store.keys import keys_of
from tests.own_store import running


def server(directory: Path) -> Server:
    return Server(port=0, pids={}, seconds=1, directory=directory)


def test_every_call_is_a_reservation_on_the_server_that_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_parts, "RESERVATIONS", 40)
    made: list[list[int]] = []
    measure = cluster_parts.run_in_turns

    def run_in_turns(servers: Sequence[Measured]) -> list[Run]:
        result = measure(servers)
        for each in servers:
            counted = [each.admin.hget(keys_of(item_id).item, "reservations") for item_id in each.item_ids]
            made.append([int(count) for count in counted])
        return result

    monkeypatch.setattr(cluster_parts, "run_in_turns", run_in_turns)

    sample = cluster_parts.cluster(server(tmp_path))

    assert made == [[40] * 3 * cluster_parts.ITEMS, *[[40] * cluster_parts.ITEMS] * 3]
    assert min(sample.figures.values()) > 0
    verdicts_of_part = verdicts({"cluster": {0: sample}})
    assert {verdict.target.bound for verdict in verdicts_of_part} == {2.5}
    assert len(verdicts_of_part) == sum(target.part == "cluster" for target in TARGETS) == 2


def test_the_busiest_primary_decides_and_primaries_run_together_where_there_are_cores_for_them() -> None:
    one = Run(calls=300, seconds=0.3, cpu_seconds=0.3)
    even, busy = Run(calls=100, seconds=0.1, cpu_seconds=0.1), Run(calls=100, seconds=0.2, cpu_seconds=0.2)
    for cores, ratio in ((2, 3.0), (6, 1.5)):
        figures = figures_of(one, [even] * 3, together_per_second=1_500, cores=cores)
        assert figures["pipelined_ratio"] == pytest.approx(ratio), cores
        assert figures["together_ratio"] == pytest.approx(1.5)
        assert figures["cpu_ratio"] == pytest.approx(3)
    assert figures_of(one, [even, even, busy], together_per_second=1_500)["cpu_ratio"] == pytest.approx(1.5)


def test_a_call_with_another_answer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_parts, "ANSWER_SECONDS_MAX", 0.3)
    call = cluster_parts.packed_call(1, buyer_id=1)
    with running(tmp_path) as own_store:
        own_store.client.script_load(scripts.RESERVE.source)
        with (
            connected(port=own_store.server.port, password=own_store.server.password) as client,
            pytest.raises(WrongAnswer, match="0 of 3 calls were answered reserved"),
        ):
            client.send([call] * 3, word="reserved")


@pytest.mark.parametrize("size", [1, 7, 100])
def test_answers_are_counted_however_they_are_cut(size: int) -> None:
    reply = b"*3\r\n$8\r\nreserved\r\n:1\r\n$0\r\n\r\n" * 25
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            near, _address = listener.accept()
            with near:
                for hello in (b"+OK\r\n", b""):
                    near.recv(100)
                    near.sendall(hello)
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # The client hangs up when it has counted the last one.
                with contextlib.suppress(OSError):
                    for start in range(0, len(reply), size):
                        near.sendall(reply[start : start + size])

        thread = threading.Thread(target=answer)
        thread.start()
        with connected(port=listener.getsockname()[1], password="x") as client:
            assert client.send([b"?"] * 25, word="reserved") > 0
        thread.join()
