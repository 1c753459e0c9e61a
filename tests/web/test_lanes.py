"""Which lane a request uses: what brings in money, and staff, never wait behind a crowd. And how a lane works."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from django.urls import reverse

from orders.payments.provider.call_bound import CALLS_MAX
from web.lanes import Lane, LaneFull, lanes

# Prints the lane of each path that it is given.
LANES_OF = """
import sys, django
django.setup()
from web.lanes import lanes
for path in sys.argv[1:]:
    print(next(lane.name for lane in lanes() if lane.path.fullmatch(path)))
"""
NUMBER = "00000000-0000-4000-8000-000000000000"


def lane_of(path: str) -> str:
    return next(lane.name for lane in lanes() if lane.path.fullmatch(path))


@pytest.mark.parametrize(
    ("path", "lane"),
    [
        (reverse("api-reserve", args=[1]), "reserve"),
        (reverse("api-live", args=[1]), "live"),
        (reverse("api-queue", args=[1]), "live"),
        (reverse("api-payment-webhook", args=["stripe"]), "webhooks"),
        (reverse("api-order-pay", args=[NUMBER]), "orders"),
        (reverse("api-orders"), "orders"),
        (reverse("orders"), "orders"),
        (reverse("order-pay", args=[NUMBER]), "orders"),
        (f"/zh-hans/orders/{NUMBER}/", "orders"),
        ("/pay/simulated/sim_abc/", "orders"),
        (reverse("api-checkout"), "orders"),
        (reverse("checkout"), "orders"),
        (reverse("cart"), "pages"),
        ("/search/", "catalogue"),
        ("/zh-hans/search/", "catalogue"),
        ("/products/", "catalogue"),
        (reverse("product", args=["longjing"]), "catalogue"),
        ("/categories/tea/", "catalogue"),
        ("/api/v1/products/", "catalogue"),
        (reverse("api-token"), "sign-in"),
        (reverse("account_login"), "sign-in"),
        ("/zh-hans/accounts/login/", "sign-in"),
        (reverse("account_signup"), "sign-in"),
        (reverse("account_reset_password_from_key", args=["1", "key"]), "sign-in"),
        (reverse("account_email"), "pages"),
        ("/admin/", "admin"),
        (reverse("board", args=[1]), "admin"),
        (reverse("board-figures", args=[1]), "boards"),
        (reverse("home-parts"), "boards"),
        ("/admin/orders/order/", "admin"),
        (reverse("schema"), "schema"),
        (reverse("api-passes", args=[1]), "pages"),
        (reverse("api-reservation", args=[NUMBER]), "pages"),
        ("/", "pages"),
        ("/sales/1/", "pages"),
        ("/no/orders/", "pages"),
        ("/orders\n", "pages"),
    ],
)
def test_a_path_has_its_lane(path: str, lane: str) -> None:
    assert lane_of(path) == lane


def test_a_language_of_two_letters_has_the_lanes_too() -> None:
    paths = ["/de/orders/", "/pt-br/checkout/", "/orders/", "/api/v1/orders/", "/fr/orders/"]
    variables = {**os.environ, "SHOP_LANGUAGES": "en,de,pt-br", "DJANGO_SETTINGS_MODULE": "shop.settings"}
    found = subprocess.run(
        [sys.executable, "-c", LANES_OF, *paths], env=variables, check=True, capture_output=True, text=True
    )
    assert found.stdout.split() == ["orders"] * 4 + ["pages"]


def test_a_slow_payment_provider_leaves_threads_for_orders() -> None:
    assert next(lane.threads for lane in lanes() if lane.name == "orders") > CALLS_MAX


def lane(*, threads: int = 1, waiting_seconds_max: float = 60) -> Lane:
    return Lane("test", path="", threads=threads, waiting_seconds_max=waiting_seconds_max)


def test_each_call_gets_its_own_answer() -> None:
    async def calls() -> list[int]:
        several = lane(threads=4)
        return await asyncio.gather(*[several.run(lambda number=number: 2 * number) for number in range(1000)])  # type: ignore[misc]

    assert asyncio.run(calls()) == [2 * number for number in range(1000)]


def test_an_error_in_the_work_is_raised_and_the_thread_lives_on() -> None:
    async def calls() -> int:
        one = lane()
        with pytest.raises(ZeroDivisionError):
            await one.run(lambda: 1 // 0)
        return await one.run(lambda: 7)

    assert asyncio.run(calls()) == 7


def while_the_thread_is_busy(one: Lane, then: Callable[[], Coroutine[Any, Any, None]]) -> str:
    """What the only thread answers, which is busy until `then` is over."""

    async def calls() -> str:
        busy, over = threading.Event(), threading.Event()

        def work() -> str:
            busy.set()
            over.wait(30)
            return "done"

        first = asyncio.create_task(one.run(work))
        while not busy.is_set():
            await asyncio.sleep(0.001)
        await then()
        over.set()
        return await first

    return asyncio.run(calls())


def answer_of(one: Lane) -> str:
    """The answer of its thread when it is free again."""

    async def third() -> str:
        return await one.run(lambda: "third")

    return asyncio.run(third())


def test_a_call_that_waits_too_long_is_given_up_and_never_begins() -> None:
    one, begun = lane(waiting_seconds_max=0.5), []

    async def second() -> None:
        with pytest.raises(LaneFull):
            await one.run(lambda: begun.append(1))

    # The first call has begun in time, so it is waited for, however long it takes.
    assert while_the_thread_is_busy(one, second) == "done"
    assert answer_of(one) == "third"
    assert not begun


def test_a_call_that_is_given_up_keeps_nothing() -> None:
    """Its body must not stay in memory until a thread comes to it."""
    one = lane(waiting_seconds_max=0.1)

    class Body:
        """Bytes have no weak references."""

    async def given_up() -> weakref.ref[Body]:
        body = Body()
        try:
            await one.run(lambda: str(body))
        except LaneFull:
            return weakref.ref(body)
        raise AssertionError

    async def second() -> None:
        gone = await given_up()
        gc.collect()
        assert gone() is None

    assert while_the_thread_is_busy(one, second) == "done"


def test_a_call_whose_client_has_gone_does_not_begin() -> None:
    one, begun = lane(), []

    async def second() -> None:
        waiting = asyncio.create_task(one.run(lambda: begun.append(1)))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert while_the_thread_is_busy(one, second) == "done"
    assert answer_of(one) == "third"
    assert not begun


def test_a_client_that_goes_while_its_call_runs_disturbs_nobody() -> None:
    one = lane()

    async def calls() -> int:
        busy, over = threading.Event(), threading.Event()

        def work() -> None:
            busy.set()
            over.wait(30)

        running = asyncio.create_task(one.run(work))
        while not busy.is_set():
            await asyncio.sleep(0.001)
        running.cancel()
        over.set()
        return await one.run(lambda: 7)

    assert asyncio.run(calls()) == 7
