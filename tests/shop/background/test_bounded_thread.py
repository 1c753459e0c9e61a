"""A call that hangs is given up by its callers in time, and keeps one thread, however many callers there are."""

import threading
import time
from concurrent.futures import Future
from functools import partial

import pytest

from shop.background.bounded_thread import BoundedThread, in_time


@pytest.fixture
def thread() -> BoundedThread:
    return BoundedThread(name="bounded-thread-of-a-test")


def threads() -> int:
    return sum(one.name == "bounded-thread-of-a-test" for one in threading.enumerate())


def answer_of(answer: Future[int], *, seconds_max: float = 20) -> int:
    return in_time(answer, until_s=time.monotonic() + seconds_max)


def test_callers_give_up_and_one_thread_waits(thread: BoundedThread) -> None:
    goes_on = threading.Event()
    called: list[int] = []

    def hang(number: int) -> int:
        called.append(number)
        goes_on.wait()
        return number

    try:
        for number in range(50):
            with pytest.raises(TimeoutError):
                answer_of(thread.begin(partial(hang, number)), seconds_max=0.01)
        assert threads() == 1
    finally:
        goes_on.set()
    # Those that had not begun never do.
    assert answer_of(thread.begin(lambda: 7)) == 7
    assert called == [0]


def test_several_callers_at_once_get_their_own_answers(thread: BoundedThread) -> None:
    answers = [thread.begin(partial(int, number)) for number in range(20)]
    assert [answer_of(answer) for answer in answers] == list(range(20))


def test_the_error_of_a_call_is_the_callers(thread: BoundedThread) -> None:
    with pytest.raises(ZeroDivisionError):
        answer_of(thread.begin(lambda: 1 // 0))
    assert answer_of(thread.begin(lambda: 7)) == 7
