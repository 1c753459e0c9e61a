"""A small `make durability`: real servers are killed under load, and what is missing afterwards is counted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.measure.durability import __main__ as command
from bench.measure.durability import price_table, rounds
from bench.measure.durability.disk import Disk, NoSlowDisk, build_library
from bench.measure.durability.prices import Price
from bench.measure.durability.replica_prices import ReplicaPrice, ReplicaRound
from bench.measure.durability.reserving_pool import Answers, Confirmation
from bench.measure.durability.rounds import Round, RoundFailed, check_slowed, figures_of, wait_for_kill_time
from tests.processes import command_line

ROOT = Path(__file__).resolve().parents[4]
# Several syncs of the slowed disk fit into the seconds: two before them are waited for, however busy the machine is.
SMALL = "--rounds 1 --seconds 0.3 --processes 1 --threads 2 --delay-ms 100"
SECONDS_MAX = 120

KEPT = Round(
    alone_ms=0.4,
    reservations_per_second=8000.0,
    p50_ms=2.0,
    p99_ms=15.0,
    unanswered=0,
    confirmed=24_000,
    lost_to_kill=0,
    lost_to_power_cut=0,
    sync_ms=0.5,
)
ON_BOTH = ReplicaRound(
    alone_ms=1.0, reservations_per_second=5000.0, p50_ms=5.0, p99_ms=20.0, unanswered=0, confirmed=15_000, lost=0
)
MEASURED_ON = {"cores": "2"}


def processes_in(directory: Path) -> list[str]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [line for line in (command_line(pid=pid) for pid in pids) if str(directory) in line]


def has_compiler(directory: Path) -> bool:
    try:
        build_library(directory)
    except NoSlowDisk:
        return False
    return True


def test_the_list_counts_what_each_way_loses_and_leaves_nothing_behind(server_directory: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.measure.durability", *SMALL.split(), "--directory", str(server_directory)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "SECKILL_REDIS_URL"},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads((server_directory / "durability.json").read_text())
    lines: dict[Any, Any] = {(line["way"], line["delay_s"]): line["rounds"][0] for line in written["prices"]}

    nothing, everysec, always = (lines[way, 0.0] for way in ("no AOF", "everysec", "always"))
    assert nothing["lost_to_kill"] == nothing["confirmed"] > 0
    # Most of the time none. While an fsync of a busy disk takes long, the store holds its writes back.
    assert everysec["lost_to_kill"] < nothing["lost_to_kill"]
    assert always["lost_to_kill"] == 0
    if has_compiler(tmp_path):
        slow_everysec, slow_always = lines["everysec", 0.1], lines["always", 0.1]
        assert min(slow_everysec["sync_ms"], slow_always["sync_ms"]) >= 100
        assert slow_everysec["lost_to_power_cut"] > slow_everysec["lost_to_kill"] > 0
        assert (always["lost_to_power_cut"], slow_always["lost_to_power_cut"], slow_always["lost_to_kill"]) == (0, 0, 0)
        assert slow_always["confirmed"] > 0
    pairs = {(line["yes_replicas"], bool(line["link_delay_s"])): line for line in written["replicas"]}
    assert set(pairs) == {(0, False), (1, False), (0, True), (1, True)}
    for (yes_replicas, _link), pair in pairs.items():
        (one,) = pair["rounds"]
        assert one["confirmed"] > one["lost"]
        assert not (yes_replicas and one["lost"])
    # There and back, for every yes.
    assert pairs[1, True]["rounds"][0]["alone_ms"] >= 2
    assert (server_directory / "durability.md").read_text().startswith("| way | disk |")
    assert {path.name for path in server_directory.iterdir()} == {"durability.json", "durability.md"}
    assert processes_in(server_directory) == []


@pytest.fixture
def exit_code_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """The exit code of the command when it has measured these prices."""
    monkeypatch.setattr(command, "use_settings_of_the_shop", lambda address: None)
    on = MEASURED_ON | {"file system": "ext4"}

    def run(prices: Sequence[Price] = (), replica_prices: Sequence[ReplicaPrice] = ()) -> int:
        monkeypatch.setattr(command, "measure", lambda *_, **__: (prices, replica_prices, on, ""))
        return command.main(["--directory", str(tmp_path)])

    return run


def test_the_shops_own_way_may_lose_nothing(exit_code_for: Callable[..., int]) -> None:
    for lost in (replace(KEPT, lost_to_kill=1), replace(KEPT, lost_to_power_cut=1)):
        assert exit_code_for([Price("everysec", 0.0, [lost]), Price("always", 0.0, [KEPT])]) == 0
        assert exit_code_for([Price("always", 0.0, [KEPT]), Price("always", 0.3, [KEPT, lost])]) == 1


def test_a_yes_that_waited_for_a_replica_may_not_be_lost(exit_code_for: Callable[..., int], tmp_path: Path) -> None:
    for yes_replicas, code in ((0, 0), (1, 1)):
        price = ReplicaPrice(yes_replicas, 0.0, [ON_BOTH, replace(ON_BOTH, lost=2)])
        assert exit_code_for(replica_prices=[price]) == code
        assert json.loads((tmp_path / "durability.json").read_text())["replicas"][0]["lost_promised"] is bool(code)
        assert (tmp_path / "durability.md").read_text().count("| 0 to 2 |") == 1


def test_without_a_compiler_the_list_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSlowDisk, match="no C compiler"):
        build_library(tmp_path)
    prices = [Price("always", 0.0, [replace(KEPT, lost_to_power_cut=None, sync_ms=None)])]
    said = price_table.markdown_of(prices, [], measured_on=MEASURED_ON, why_not_slowed="there is no C compiler")
    assert "| always | as it is | – | 0.40 ms | 8,000 | 2.0 ms | 15.0 ms | 0 | 24,000 | 0 | – |" in said
    assert "No slowed disk, and no power cuts: there is no C compiler." in said


def test_the_figures_of_a_round_are_those_of_the_measured_seconds_and_every_yes_counts_as_confirmed() -> None:
    # The slowest came first, and two before and after the measurement.
    took_ms = [*range(100, 0, -1), 900, 900]
    at_s = [*(1 + number / 100 for number in range(100)), 0.9, 2.0]
    confirmed = [Confirmation(str(at), at, took / 1000) for at, took in zip(at_s, took_ms, strict=True)]
    answers = Answers(confirmed=confirmed, unanswered=[0.5, 1.5, 2.0])
    found = figures_of([Confirmation("alone", 0.1, 0.002)], answers, started_s=1.0, ended_s=2.0)
    assert (found.p50_ms, found.p99_ms, found.alone_ms) == pytest.approx((50.0, 99.0, 2.0))
    assert (found.reservations_per_second, found.unanswered, found.confirmed) == (100, 1, 103)
    with pytest.raises(RoundFailed, match="Fewer than two"):
        figures_of(confirmed, answers, started_s=0.0, ended_s=0.95)


def test_a_run_that_would_take_too_long_is_refused() -> None:
    for arguments in ("--rounds 0", "--rounds 99", "--seconds 600", "--delay-ms 5000", "--threads x"):
        with pytest.raises(SystemExit):
            command.parsed(arguments.split())


def test_a_round_whose_disk_was_not_slowed_or_that_missed_its_worst_moment_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for sync_ms in (150.2, 136.0):
        check_slowed(sync_ms, delay_s=0.15)
    for wrong_ms in (120.0, None):
        check_slowed(wrong_ms, delay_s=0.0)
        with pytest.raises(RoundFailed, match="should take 150 ms"):
            check_slowed(wrong_ms, delay_s=0.15)
    monkeypatch.setattr(rounds, "SYNC_SECONDS_MAX", 0.05)
    never_late = SimpleNamespace(sync_under_way_s=lambda: 0.01)
    with pytest.raises(RoundFailed, match="late in a sync"):
        wait_for_kill_time(disk=cast(Disk, never_late), delay_s=0.15)
