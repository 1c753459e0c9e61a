"""A thread that starts when it is first needed: one in each process, whatever happened to the one before."""

import os
import threading
from collections.abc import Callable

import pytest

from shop.background.lazy_thread import LazyThread

SECONDS_MAX = 20.0


def step_and_calls() -> tuple[Callable[[], None], threading.Semaphore]:
    calls = threading.Semaphore(0)
    return calls.release, calls


def test_each_wake_is_followed_by_a_step_of_the_same_thread() -> None:
    threads: list[threading.Thread] = []
    stepped = threading.Semaphore(0)

    def step() -> None:
        threads.append(threading.current_thread())
        stepped.release()

    thread = LazyThread(step, name="of a test")
    for _time in range(3):
        thread.wake()
        assert stepped.acquire(timeout=SECONDS_MAX)
    thread.stop()
    assert len(set(threads)) == 1
    assert (threads[0].name, threads[0].daemon, threads[0].is_alive()) == ("of a test", True, False)


def test_a_wake_during_a_step_is_followed_by_another_step() -> None:
    begun, go_on = threading.Semaphore(0), threading.Semaphore(0)

    def step() -> None:
        begun.release()
        assert go_on.acquire(timeout=SECONDS_MAX)

    thread = LazyThread(step, name="of a test")
    thread.wake()
    assert begun.acquire(timeout=SECONDS_MAX)
    thread.wake()
    thread.wake()
    go_on.release(2)
    assert begun.acquire(timeout=SECONDS_MAX)
    thread.stop()
    assert not begun.acquire(blocking=False)


def test_a_thread_that_was_stopped_starts_again() -> None:
    step, calls = step_and_calls()
    thread = LazyThread(step, name="of a test")
    thread.stop()
    for _time in range(2):
        thread.wake()
        assert calls.acquire(timeout=SECONDS_MAX)
        thread.stop()


def test_a_process_without_room_for_a_thread_says_so_and_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    step, calls = step_and_calls()
    thread = LazyThread(step, name="of a test")

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse)
        thread.wake()
    assert "thread_not_started" in caplog.text
    thread.wake()
    assert calls.acquire(timeout=SECONDS_MAX)
    thread.stop()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own() -> None:
    step, calls = step_and_calls()
    thread = LazyThread(step, name="of a test")
    thread.wake()
    assert calls.acquire(timeout=SECONDS_MAX)
    pid = os.fork()
    if pid == 0:
        thread.wake()
        os._exit(0 if calls.acquire(timeout=SECONDS_MAX) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    thread.stop()
