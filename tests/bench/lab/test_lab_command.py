"""`manage.py seckill_lab`: what it prints and writes, and when its exit code is 1."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from django.core.management import CommandError

from bench.lab import __main__ as lab_main
from bench.lab import fault_runs, results_page, series
from bench.lab.buyers.calls import SOLD, Result, Setting
from bench.lab.fault_runs import FaultRun
from bench.lab.measures import measured
from bench.lab.presets import MIXED, PRESETS, Series
from bench.lab.series import Run, SeriesResult, judge
from bench.management.commands import seckill_lab
from bench.strategies.atomic.ledger import Ledger
from bench.strategies.base.strategy import Fault
from tests.steps.operating import run_command

lab = partial(run_command, "seckill_lab")

SMALL = ("--buyers", "40", "--stock", "30", "--processes", "2", "--clients", "2")


def test_a_flawed_strategy_that_oversells_does_not_make_the_lab_fail(tmp_path: Path) -> None:
    said = lab(*SMALL, "--strategies", "get_set,ledger", "--json", str(tmp_path / "lab.json"), "--plots", str(tmp_path))
    assert "sold exactly the stock" in said
    assert "seed 1" in said
    written = json.loads((tmp_path / "lab.json").read_text())
    runs = {run["measures"]["strategy"]: run for run in written["series"][0]["runs"]}
    assert runs["get_set"]["measures"]["oversold"] > 0
    assert runs["ledger"]["measures"]["sold"] == 30
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        "own-which-one.svg",
        "own-sold.svg",
        "own-latency.svg",
        "own-commands.svg",
    }
    assert "<svg" in (tmp_path / "own-sold.svg").read_text()


def test_quick_presets_take_the_strategies_they_are_given_and_the_results_page_has_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few processes, which go on under faults.
    size = {"processes": 2, "clients": 5}
    (setting,) = MIXED.settings
    monkeypatch.setitem(PRESETS, MIXED.name, replace(MIXED, settings=[replace(setting, **size)]))
    for module, name in ((series, "FAULT_SETTING"), (fault_runs, "FAULT_SETTING"), (fault_runs, "LOST_SETTING")):
        monkeypatch.setattr(module, name, replace(getattr(module, name), **size))
    path = tmp_path / "lab.json"
    presets = ("--preset", "mixed-units", "--preset", "faults")
    said = lab("--quick", *presets, "--strategies", "all_in_lua", "--json", str(path))
    assert "mixed-units: 100 buyers, 10 units" in said
    assert "store_lost" in said
    written = json.loads(path.read_text())
    text = results_page.page(written)
    commands = written["series"][0]["runs"][0]["measures"]["commands_per_attempt"]
    assert "## mixed-units\n\n100 buyers, 10 units, 1 to 3 for each buyer, 10 clients in 2 processes." in text
    assert f"| `all_in_lua` | sold exactly the stock | 10 | – | – | {commands:.1f} |" in text
    assert "| strategy | paused | killed | restarted | lost | clock |" in text
    assert re.search(r"^\| `all_in_lua` \| – \| – \| [^|]+ \| \+10 \| – \|$", text, re.MULTILINE)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Series]:
    """What is to be run. Nothing is: the ledger is said to have oversold, and to be stuck when a buyer was killed."""
    asked: list[Series] = []
    sold = [Result(buyer, 1, SOLD) for buyer in (1, 2)]
    measures = measured(strategy="ledger", stock=1, seed=1, results=sold, counters=None, believed_left=0, stuck=False)
    oversold = Run(Setting(buyers=2, stock=1), measures, judge(Ledger, measures))
    stuck = FaultRun("ledger", Fault.KILLED, oversold=0, unsold=1, stuck=True, errors=0, unexpected=True)

    def run_all(wanted: Sequence[Series]) -> tuple[list[SeriesResult], dict[str, str]]:
        asked.extend(wanted)
        return [SeriesResult("own", [oversold], [stuck])], {}

    monkeypatch.setattr(seckill_lab, "run_all", run_all)
    return asked


def test_the_exit_code_is_1_if_a_strategy_is_expected_to_be_correct_and_is_not(asked: list[Series]) -> None:
    with pytest.raises(CommandError, match=r"not: ledger: oversold by 1 \(2 of 1\); ledger under killed") as failure:
        lab("--faults", "killed", "--strategies", "ledger")
    assert failure.value.returncode == 1
    # Faults can be run without any other sale.
    assert asked == [Series("own", ("ledger",), [], (Fault.KILLED,))]


def test_over_http_it_calls_stampede(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(seckill_lab, "call_command", lambda *words, stdout: asked.extend(words))
    lab("--http", "--buyers", "50", "--stock", "20", "--units", "1-2")
    said = "stampede --buyers 50 --stock 20 --units 1-2 --processes 4 --connections 4 --seed 1"
    assert " ".join(asked) == said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--preset", "classic-505", "--stock", "3", "--units", "1-3"), "--stock, --units .* with a preset"),
        (("--processes", "2"), "--processes .* with a preset"),
        (("--quick", "--clients", "2"), "--clients .* with a preset"),
        (("--preset", "faults", "--seed", "0"), "--seed .* with a preset"),
        (("--preset", "mixed-units", "--faults", "killed"), "--faults .* with a preset"),
        (("--faults", "killed", "--stock", "3", "--seed", "2"), "--stock, --seed .* with --faults alone"),
        (("--buyers", "5", "--preset", "faults"), "--preset .* with --buyers"),
        (("--interleave", "get_set", "--buyers", "5"), "--buyers .* with --interleave"),
        (("--http", "--strategies", "ledger"), "--strategies .* with --http"),
        (("--buyers", "5", "--language", "en"), "--language .* without --interleave"),
        (("--buyers", "5", "--processes", "99"), "At most 16 processes"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused_before_anything_starts(
    asked: list[Series],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: Sequence[str],
    why: str,
) -> None:
    with pytest.raises(CommandError, match=why) as failure:
        lab(*arguments)
    assert failure.value.returncode == 2
    # `make lab` says it before it starts the servers.
    monkeypatch.setattr(lab_main, "run_on_own_servers", lambda *started: pytest.fail("servers were started"))
    monkeypatch.setattr(lab_main, "run_command", lambda *started, environment: pytest.fail("a command was started"))
    assert lab_main.main([*arguments]) == 2
    assert re.search(why, capsys.readouterr().err)
    assert asked == []


def test_the_seed_decides_the_sales_of_a_preset(asked: list[Series]) -> None:
    with pytest.raises(CommandError, match="Expected to be correct"):
        lab("--preset", "mixed-units", "--preset", "faults", "--seed", "9")
    assert [setting.seed for setting in asked[0].settings] == [9]
