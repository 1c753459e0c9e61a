"""What a fault plans for later is done by the main thread while it waits, and forgotten when the trial is over."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.faults.shop_under_test import ShopUnderTest


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ShopUnderTest]:
    shop = ShopUnderTest(tmp_path, log=print)
    shop.failpoints.mkdir()
    yield shop
    shop.stop()


def test_it_is_done_once_when_its_time_has_come_whoever_waits(shop: ShopUnderTest) -> None:
    done: list[str] = []
    threads = set()

    def first() -> None:
        threads.add(threading.current_thread())
        done.append("first")
        # It waits itself, and the second comes meanwhile.
        shop.wait_until(lambda: "second" in done, seconds_max=5)
        done.append("after the second")

    shop.do_later(0.1, first)
    shop.do_later(0.2, lambda: done.append("second"))
    assert not done
    shop.wait_until(lambda: "after the second" in done, seconds_max=10)
    shop.wait(0.3)
    assert done == ["first", "second", "after the second"]
    assert threads == {threading.main_thread()}
    # A reset forgets what is planned.
    shop.do_later(0.0, lambda: done.append("too late"))
    shop.reset()
    shop.wait(0.2)
    assert len(done) == 3
