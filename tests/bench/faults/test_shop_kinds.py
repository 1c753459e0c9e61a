"""Shops with other reservation stores: which one a fault gets, and when a dead server of its store is started again."""

import sys
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bench.faults.__main__ import LEFTOVERS
from bench.faults.all_faults import FAULTS, ON_REQUEST, QUICK
from bench.faults.kinds.frozen_servers import PostgresFrozen
from bench.faults.pairs import can_be_combined
from bench.faults.replicas.shop_kind import ShopKind
from bench.faults.shop_under_test import RESTART_SECONDS, ShopUnderTest, children_of, is_due
from bench.management.commands.fault_harness import kinds_named
from shop.local.process import Comeback, Process, succeeded
from tests.processes import living, wait_until

# Its child is in another session, as those of PostgreSQL, and ends when it notices that its parent has.
WATCH = """
import os, time
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.01)
"""
SERVER = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {WATCH!r}], start_new_session=True)
time.sleep(600)
"""


def dead_process(comeback: Comeback | None, *, directory: Path) -> Process:
    return Process(
        name="store-1",
        title="store-1",
        argv=[sys.executable],
        log_path=directory / "log",
        ready=succeeded,
        comeback=comeback,
    )


def test_the_shops_of_each_kind_of_store_have_a_directory_of_their_own_that_the_next_run_removes() -> None:
    names = [kind.directory_name for kind in {kind.shop_kind for kind in (*FAULTS, *ON_REQUEST)}]
    assert len({*names}) == len(names) == 6
    assert [name for name in names if name and not any(fnmatch(name, left) for left in LEFTOVERS)] == []


def test_the_short_selection_and_pairs_need_one_shop_alone() -> None:
    assert {kind.shop_kind for kind in kinds_named(QUICK, seed=7, pairs=0)} == {ShopKind()}
    others = [kind for kind in FAULTS if kind.shop_kind != ShopKind()]
    assert others
    assert not any(can_be_combined(kind, other) for kind in others for other in FAULTS)


def test_a_single_server_is_started_again_at_once_and_one_with_a_replica_when_it_may(tmp_path: Path) -> None:
    single = dead_process(None, directory=tmp_path)
    assert not is_due(single, dead_seconds=RESTART_SECONDS / 2)
    assert is_due(single, dead_seconds=RESTART_SECONDS)

    allowed = [False, True]
    comeback = Comeback(after_seconds=5.0, seconds_max=9.0, may_start=lambda: allowed.pop(0))
    replicated = dead_process(comeback, directory=tmp_path)
    assert not is_due(replicated, dead_seconds=4.9)
    assert allowed == [False, True]
    assert not is_due(replicated, dead_seconds=5.1)
    assert is_due(replicated, dead_seconds=5.2)
    # One that may not start is started in the end.
    process = dead_process(Comeback(after_seconds=5.0, seconds_max=9.0, may_start=lambda: False), directory=tmp_path)
    assert not is_due(process, dead_seconds=8.9)
    assert is_due(process, dead_seconds=9.1)


def test_nothing_of_a_server_is_left_when_the_harness_is_stopped_while_it_is_frozen(tmp_path: Path) -> None:
    shop = ShopUnderTest(tmp_path, log=print)
    server = Process(
        name="postgres", title="", argv=[sys.executable, "-c", SERVER], log_path=tmp_path / "log", ready=succeeded
    )
    shop.add("postgres", server)
    wait_until(lambda: bool(children_of(server.pid or 0)), seconds_max=20)
    children = {*children_of(server.pid or 0)}
    frozen = PostgresFrozen(cast(Any, SimpleNamespace(shop=shop, rng=None)))
    frozen.hold()
    shop.stop()
    wait_until(lambda: not living(pids=children), seconds_max=5)
