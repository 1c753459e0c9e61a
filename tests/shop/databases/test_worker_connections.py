"""A process of a worker keeps its connection from task to task, as docs/postgres.md counts them, while it answers."""

import os
import signal
import time
from collections.abc import Iterator

import pytest
from django.db import connection

from shop.background.sweep_notes import last_notes
from shop.databases.kept_connections import ANSWER_SECONDS, close_unusable_connections
from tests.processes import wait_until

SWEEP = "settle_orders"
# Beat sends some ten sweeps a second. In so many, a worker of three processes begins few sessions.
SECONDS = 3.0
SESSIONS_MAX = 12


def sessions_begun() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
        (count,) = cursor.fetchone()
    return int(count)


def swept_after(moment_s: float) -> bool:
    note = last_notes([SWEEP])[SWEEP]
    return note.waited_seconds is not None and note.at_s >= moment_s


def test_sweeps_begin_no_sessions(live_shop: str) -> None:
    began_s, before = time.time(), sessions_begun()
    wait_until(lambda: swept_after(began_s + SECONDS), seconds_max=60.0)
    assert sessions_begun() - before <= SESSIONS_MAX


def session() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


@pytest.fixture
def frozen_session(transactional_db: None) -> Iterator[int]:
    pid = session()
    os.kill(pid, signal.SIGSTOP)
    yield pid
    os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_session_that_is_silent_is_replaced_after_two_seconds(frozen_session: int) -> None:
    began_s = time.monotonic()
    close_unusable_connections()
    assert session() != frozen_session
    assert time.monotonic() - began_s < 3 * ANSWER_SECONDS


@pytest.mark.django_db(transaction=True)
def test_a_session_that_answers_is_kept_and_one_that_has_ended_is_replaced() -> None:
    first = session()
    close_unusable_connections()
    assert session() == first
    os.kill(first, signal.SIGTERM)
    wait_until(lambda: not os.path.exists(f"/proc/{first}"), seconds_max=30.0)
    close_unusable_connections()
    assert session() != first
