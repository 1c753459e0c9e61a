"""Which lane a request uses: what brings in money, and staff, never wait behind a crowd. And how a lane works."""

import asyncio
import gc
import re
import threading
import weakref
from collections.abc import Callable, Coroutine
from importlib.util import find_spec, module_from_spec
from typing import Any

import pytest
from django.urls import reverse

from orders.payments.provider.call_bound import CALLS_MAX
from web.lanes import Lane, LaneFull, lanes

NUMBER = "00000000-0000-4000-8000-000000000000"


def lane_of(path: str) -> str:
    return next(lane.name for lane in lanes() if lane.path.fullmatch(path))


LANES_OF_PATHS = {
    "reserve": [reverse("api-reserve", args=[1])],
    "live": [reverse("api-live", args=[1]), reverse("api-queue", args=[1])],
    "webhooks": [reverse("api-payment-webhook", args=["stripe"])],
    "orders": [
        *(reverse("api-order-pay", args=[NUMBER]), reverse("api-orders"), reverse("orders"), "/pay/simulated/sim_abc/"),
        *(reverse("order-pay", args=[NUMBER]), f"/zh-hans/orders/{NUMBER}/"),
        *(reverse("api-checkout"), reverse("checkout")),
    ],
    "catalogue": [
        *("/search/", "/zh-hans/search/", "/products/", "/categories/tea/", "/api/v1/products/"),
        reverse("product", args=["longjing"]),
    ],
    "sign-in": [
        *(reverse("api-token"), reverse("account_login"), "/zh-hans/accounts/login/", reverse("account_signup")),
        reverse("account_reset_password_from_key", args=["1", "key"]),
    ],
    "admin": ["/admin/", "/admin/orders/order/", reverse("board", args=[1])],
    "boards": [reverse("board-figures", args=[1]), reverse("home-parts")],
    "schema": [reverse("schema"), reverse("api-draw-file", args=[1])],
    "pages": [
        *(reverse("cart"), reverse("account_email"), reverse("api-passes", args=[1])),
        *(reverse("api-reservation", args=[NUMBER]), "/", "/sales/1/", "/no/orders/", "/orders\n"),
    ],
}


def test_a_path_has_its_lane() -> None:
    for lane, paths in LANES_OF_PATHS.items():
        assert {path: lane_of(path) for path in paths} == dict.fromkeys(paths, lane)


def test_a_language_of_two_letters_has_the_lanes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shop.languages.page_language.OTHER_LANGUAGES", ["de", "pt-br"])
    spec = find_spec("web.addresses")
    assert spec
    assert spec.loader
    # As in a process of its own: the patterns are made when it is imported.
    addresses = module_from_spec(spec)
    spec.loader.exec_module(addresses)
    paths = ["/de/orders/", "/pt-br/checkout/", "/orders/", "/api/v1/orders/", "/fr/orders/"]
    assert [bool(re.fullmatch(addresses.ORDERS, path)) for path in paths] == [True] * 4 + [False]


def test_a_slow_payment_provider_leaves_threads_for_orders() -> None:
    assert next(lane.threads for lane in lanes() if lane.name == "orders") > CALLS_MAX


def lane(*, threads: int = 1, waiting_seconds_max: float = 60) -> Lane:
    return Lane("test", path="", threads=threads, waiting_seconds_max=waiting_seconds_max)


def test_each_call_gets_its_own_answer() -> None:
    async def calls() -> list[int]:
        several = lane(threads=4)
        return await asyncio.gather(*[several.run(lambda number=number: 2 * number) for number in range(200)])  # type: ignore[misc]

    assert asyncio.run(calls()) == [2 * number for number in range(200)]


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
