"""`make bench`: a very short run, wrong answers, and Ctrl-C. How fast anything is decides no test."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from io import StringIO
from pathlib import Path
from unittest import mock

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django_redis import get_redis_connection

from bench.management.commands import speed_bench
from bench.measure.speed import __main__ as speed_main
from bench.measure.speed import measured_sales, part, server_groups, speed_chart
from bench.measure.speed.bare_site.models import BareOrder, BareStock
from bench.measure.speed.part import Ask, Part, Sample, WrongAnswer, check_report
from bench.measure.speed.parts import reserving_parts
from bench.measure.speed.parts.bare_parts import ask_bare
from bench.measure.speed.parts.reserving_parts import Sold, check_sold, told_yes
from bench.measure.speed.rounds import Outcome, run_rounds, ticks_of
from bench.measure.speed.server_groups import SERVER_PIDS, SHOP, SHOP_CONFIRMED, STORE, WSGI_HELLO
from bench.measure.speed.speed_tables import number
from bench.measure.speed.wrk import Report
from bench.processor_time import read_stats
from seckill.models import SaleItem
from shop.local.process import Process, ProcessFailed, succeeded
from shop.local.shop_processes import ROOT
from tests import live_shop
from tests.deploy.programs import program
from tests.processes import command_line, descendants, living, wait_until
from tests.steps.operating import run_command

# Many times what it takes on an idle machine.
SECONDS_MAX = 240


@pytest.fixture
def _wrk() -> None:
    program("wrk", package="wrk")


@pytest.fixture
def run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For `run_rounds` in this process, without servers that bench/measure/speed/__main__.py would have started."""
    monkeypatch.setenv(SERVER_PIDS, "{}")
    return tmp_path


@pytest.fixture
def _servers_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For `speed_bench` in this process: the servers of the tests and their migrated database, and a shop without the
    workers that no reservation needs.
    """
    store, cache = (int(get_redis_connection(name).info("server")["process_id"]) for name in ("seckill", "default"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        postgres = read_stats()[cursor.fetchone()[0]].parent
    variables = live_shop.environment() | {
        "CELERY_BROKER_URL": settings.BROKER_URL,
        "SPEED_DIRECTORY": str(tmp_path),
        SERVER_PIDS: json.dumps({"postgres": postgres, "store": store, "cache": cache}),
    }
    monkeypatch.setattr(measured_sales, "REFUSED_PASSES", 1)
    monkeypatch.setattr(server_groups, "SHOP_KINDS", {"web": "web", "worker": "worker", "beat": "beat"})
    with mock.patch.dict(os.environ, variables):
        yield
    for made_once in (measured_sales.refused_buyer_ids, measured_sales.buyer_ids):
        made_once.cache_clear()
    with connection.schema_editor() as editor:
        editor.delete_model(BareStock)
        editor.delete_model(BareOrder)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_wrk", "_servers_of_the_run")
def test_a_very_short_run_ends_with_a_table_a_file_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[Path] = []
    monkeypatch.setattr(speed_bench, "prepare_database", lambda *, directory: prepared.append(directory))
    said = run_command("speed_bench", "--quick", "--only", "accepted", "--results", str(tmp_path))
    assert prepared == [tmp_path]
    assert "store CPU for an accepted call" in said
    written = json.loads((tmp_path / "speed.json").read_text())
    assert [*written["parts"]] == ["accepted"]
    accepted = written["parts"]["accepted"]["figures"]
    assert accepted["per_second"]["median"] > 0
    assert accepted["orders"]["median"] > 0
    assert {"cpu_us.web", "cpu_us.worker", "cpu_us.postgres", "cpu_us.store", "cpu_us.wrk"} <= set(accepted)
    assert "accepted reservation" in (tmp_path / "speed.svg").read_text()
    costs = json.loads((tmp_path / "unit_costs.json").read_text())["parts"]
    assert costs["accepted"]["figures"]["cpu_us.web"] == {"median": accepted["cpu_us.web"]["median"]}
    page = (tmp_path / "speed.md").read_text()
    assert f"| accepted reservation | orders | {number(accepted['orders']['median'])} |" in page
    assert [target["title"] for target in written["targets"]] == ["store CPU for an accepted call, fsync included"]


def test_the_database_is_prepared_when_each_step_has_succeeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(number: int, code: int) -> Process:
        words = ["sh", "-c", f"sleep 0.1; exit {code}"]
        return Process(name=f"step {number}", title="", argv=words, log_path=tmp_path / "log", ready=succeeded)

    for codes, fails in (((0, 0), nullcontext()), ((0, 3), pytest.raises(ProcessFailed, match="step 1"))):
        preparing = [step(number, code) for number, code in enumerate(codes)]
        wanted = mock.Mock(return_value=preparing)
        monkeypatch.setattr(server_groups, "steps", wanted)
        with fails:
            server_groups.prepare_database(directory=tmp_path)
        assert wanted.call_args.kwargs["settings"].directory == tmp_path
        assert {process.exit_code for process in preparing} == {*codes}


@pytest.mark.usefixtures("_wrk")
def test_after_ctrl_c_nothing_is_left_running(server_directory: Path) -> None:
    words = ["--directory", str(server_directory / "speed"), "--only", "wsgi-hello", "--seconds", "60"]
    with subprocess.Popen(
        [sys.executable, "-m", "bench.measure.speed", *words], cwd=ROOT, start_new_session=True
    ) as process:
        try:
            wait_until(lambda: running_wrk(process.pid), seconds_max=SECONDS_MAX)
            family = descendants(pid=process.pid)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=120) == 130
        finally:
            process.kill()
    assert not living(pids=family)


def running_wrk(pid: int) -> bool:
    """Whether wrk has begun, if only to warm the server up."""
    return any("--timeout=10s" in command_line(pid=child) for child in descendants(pid=pid))


def test_figures_of_wrong_answers_do_not_count_and_a_part_that_breaks_does_not_stop_the_others(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(_server: object) -> Sample:
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(part, "answer_to", lambda server, ask: (200, ""))
    measures = (partial(ask_bare, Ask(path="/", status=201)), break_down, lambda _server: Sample())
    parts = [Part("", "", STORE, measure) for measure in measures]
    outcomes = run_rounds(parts, rounds=1, seconds=1, directory=run_directory, tick=lambda _text: None)
    assert [outcome.wrong for outcome in outcomes] == [
        ["GET / got 200, expected 201"],
        ["ConnectionError('nobody is there')"],
        [],
    ]
    assert [bool(outcome.samples) for outcome in outcomes] == [False, False, True]


@pytest.mark.usefixtures("_wrk")
def test_a_run_with_a_wrong_answer_fails(run_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Part("live", "live figures", SHOP, lambda server: Sample())
    outcome = Outcome(live, wrong=["7 of 10 answers had a status above 399"])
    monkeypatch.setenv("SPEED_DIRECTORY", str(run_directory))
    monkeypatch.setattr(speed_bench, "measure_all", lambda options, directory: ([outcome], {}))
    out = StringIO()
    with pytest.raises(CommandError, match="these figures do not count: live") as failure:
        call_command("speed_bench", "--quick", stdout=out)
    assert failure.value.returncode == 1
    assert "7 of 10 answers had a status above 399" in out.getvalue()


def report(*, above_399: int = 0, failed: int = 0) -> Report:
    return Report(requests=10, seconds=1.0, bytes=1, p50_ms=1.0, p99_ms=1.0, above_399=above_399, failed=failed)


def test_one_wrong_answer_among_many_is_found_and_all_answers_as_expected_are_right() -> None:
    check_report(report(), refused=False)
    check_report(report(above_399=10), refused=True)
    for heard, refused in ((report(above_399=1), False), (report(above_399=9), True), (report(failed=1), False)):
        with pytest.raises(WrongAnswer):
            check_report(heard, refused=refused)
    # Where every buyer must get a unit, but those who came too late.
    assert told_yes(report(above_399=2), refusals_max=2) == 8
    with pytest.raises(WrongAnswer, match="3 of 10 buyers were refused"):
        told_yes(report(above_399=3), refusals_max=2)
    with pytest.raises(WrongAnswer, match="1 of 10 requests got no answer"):
        told_yes(report(failed=1), refusals_max=2)


def test_lost_and_oversold_orders_are_wrong_answers(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserving_parts, "reservations_of", lambda item: 5)
    right = Sold(orders=5, units=5, buyers=5, lag_s=0)
    # wrk does not wait for the answers that are under way when it stops.
    check_sold(item, right, told_yes=4)
    for wrong, yes, message in (
        (Sold(orders=6, units=6, buyers=6, lag_s=0), 6, "oversold: 6 units of 5"),
        (Sold(orders=4, units=4, buyers=4, lag_s=0), 4, "5 reservations, but 4 orders"),
        (Sold(orders=5, units=5, buyers=4, lag_s=0), 5, "5 orders of 4 buyers"),
        (right, 6, "6 buyers were told yes, but there are 5 orders"),
    ):
        with pytest.raises(WrongAnswer, match=message):
            check_sold(item, wrong, told_yes=yes)
    with pytest.raises(WrongAnswer, match="3 buyers were told yes, but there are 5 orders"):
        check_sold(item, right, told_yes=3, connections=1)


def test_a_part_that_is_measured_once_is_so(run_directory: Path) -> None:
    measures = {name: mock.Mock(return_value=Sample()) for name in ("often", "once")}
    parts = [Part(name, name, STORE, measure, once=name == "once") for name, measure in measures.items()]
    ticks: list[str] = []
    run_rounds(parts, rounds=3, seconds=1, directory=run_directory, tick=ticks.append)
    assert {name: measure.call_count for name, measure in measures.items()} == {"often": 3, "once": 1}
    assert len(ticks) == ticks_of(parts, rounds=3)


def test_a_shop_whose_yes_a_replica_confirms_has_the_colour_of_the_shop(tmp_path: Path) -> None:
    parts = [Part(server, server, server, mock.Mock()) for server in (SHOP, SHOP_CONFIRMED, WSGI_HELLO)]
    outcomes = [Outcome(part, {0: Sample(requests=1, per_second=5.0)}) for part in parts]
    speed_chart.draw(outcomes, [], path=tmp_path / "speed.svg")
    drawn = (tmp_path / "speed.svg").read_text()
    assert (drawn.count(speed_chart.OURS), drawn.count(speed_chart.BARE)) == (2, 1)


def test_impossible_arguments_are_refused() -> None:
    for option, value in (("--only", "none"), ("--rounds", "0"), ("--seconds", "61"), ("--rounds", "x")):
        with pytest.raises(CommandError, match=option):
            call_command("speed_bench", option, value)


def test_the_parts_are_listed_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = mock.Mock(return_value=0)
    monkeypatch.setattr(speed_main, "run_command", asked)
    assert speed_main.main(["--list"]) == 0
    assert asked.call_args.args == ("speed_bench", ["--list"])
    assert "accepted" in run_command("speed_bench", "--list")
