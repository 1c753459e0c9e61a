"""Bodies that sockets announce and do not send hold no thread and keep no other body out: with real sockets."""

import asyncio
import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.steps.caller import ask
from web import bodies
from web.bodies import LARGE_BYTES_MAX, Bodies, BodyRefused, Patience, bytes_max

# Of each path beside each other: more than there is room for.
SOCKETS = 170
# For each of the two processes more than the eight threads that it has for pages.
SLOW_SOCKETS = 40
API, PAGE, ADMIN = "/api/v1/auth/token/", "/accounts/login/", "/admin/login/"
PATHS = (API, PAGE, ADMIN)
PERSON = {"method": "POST", "body": json.dumps({"username": "a", "password": "b"}), "content_type": "application/json"}


@pytest.fixture
def port(live_shop: str) -> int:
    return urlsplit(live_shop).port or 0


def announced(port: int, path: str, length: int) -> socket.socket:
    """A socket that announced a body and sends none of it."""
    one = socket.create_connection(("127.0.0.1", port), 20)
    one.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()
    )
    return one


@pytest.mark.django_db(transaction=True)
def test_510_sockets_that_announce_the_most_keep_no_small_body_out(live_shop: str, port: int) -> None:
    with contextlib.ExitStack() as stack:
        for path in PATHS * SOCKETS:
            stack.enter_context(announced(port, path, bytes_max(path)))
        for _attempt in range(4):
            # Wrong credentials, and a form without its CSRF token: both have been read and answered by Django.
            assert [ask(live_shop, path, **PERSON).status for path in PATHS] == [401, 403, 403]


@pytest.mark.django_db(transaction=True)
def test_the_bound_depends_on_the_path(port: int) -> None:
    for path in PATHS:
        with announced(port, path, bytes_max(path) + 1) as each:
            answer = http.client.HTTPResponse(each)
            answer.begin()
            assert (answer.status, answer.headers["Connection"]) == (413, "close"), path
            content, sentence = answer.read().decode(), "The request body is too large."
            if path == API:
                problem = json.loads(content)
                assert (problem["code"], problem["detail"]) == ("body_too_large", sentence)
            else:
                assert content == sentence


def test_the_largest_picture_and_table_fit_into_a_form_of_staff() -> None:
    file_bytes = max(settings.PICTURE_BYTES_MAX, settings.IMPORT_BYTES_MAX)
    assert bytes_max("/admin/shop/product/add/") > file_bytes + 100_000
    assert bytes_max("/zh-hans/cart/") == settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def test_large_bodies_are_counted_until_they_are_answered() -> None:
    held, large = Bodies(), bytes_max(PAGE)
    taken = []
    while held.taken(PAGE) + large <= LARGE_BYTES_MAX:
        taken.append(held.take(PAGE, length=large))
    with pytest.raises(BodyRefused) as refused:
        held.take(PAGE, length=large)
    assert refused.value.status == 503
    # Small ones need no memory of those, and the admin has some of its own.
    assert held.take(PAGE, length=1000) == 0
    held.give_back(ADMIN, held.take(ADMIN, length=bytes_max(ADMIN)))
    for length in taken:
        held.give_back(PAGE, length)
    assert held.taken(PAGE) == held.taken(ADMIN) == 0


def test_a_body_larger_than_all_places_is_taken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PICTURE_BYTES_MAX", 2 * LARGE_BYTES_MAX)
    held, length = Bodies(), 2 * LARGE_BYTES_MAX
    held.take(ADMIN, length=length)
    with pytest.raises(BodyRefused):
        held.take(ADMIN, length=length)


@contextlib.contextmanager
def waiting_sockets(port: int) -> Iterator[list[socket.socket]]:
    """Sockets that announced a body of 100 bytes and sent none."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(announced(port, API, 100)) for _ in range(SLOW_SOCKETS)]
        time.sleep(0.5)
        yield sockets


@pytest.mark.django_db(transaction=True)
def test_announced_bodies_hold_no_thread(live_shop: str, port: int) -> None:
    with waiting_sockets(port):
        answers = [ask(live_shop, "/healthz") for _attempt in range(20)]
        assert ask(live_shop, "/api/v1/sales/").status == 200
        # Another client's body is read meanwhile.
        assert json.loads(ask(live_shop, API, **PERSON).body)["code"] == "wrong_credentials"
    assert {answer.status for answer in answers} == {200}
    # Some milliseconds on an idle machine. A call that waits for a thread waits for the bodies.
    assert max(answer.seconds for answer in answers) < bodies.BODY_SECONDS_MAX / 2


@pytest.mark.django_db(transaction=True)
def test_a_body_that_does_not_come_is_given_up(port: int) -> None:
    with waiting_sockets(port) as sockets:
        # One of them sends a byte a second: the bound is for the whole body.
        started_s = time.monotonic()
        while time.monotonic() - started_s < bodies.BODY_SECONDS_MAX + 1:
            with contextlib.suppress(OSError):
                sockets[0].sendall(b" ")
            time.sleep(1)
        for each in sockets:
            answer = http.client.HTTPResponse(each)
            answer.begin()
            assert answer.status == 408
            assert json.loads(answer.read())["code"] == "body_too_slow"


def test_a_wait_that_takes_too_long_ends_and_others_go_on() -> None:
    async def wait(patience: Patience, event: asyncio.Event) -> str:
        try:
            with patience:
                await event.wait()
        except TimeoutError:
            return "too long"
        return "in time"

    async def run() -> list[str]:
        patience, never, soon = Patience(seconds_max=0.2), asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(wait(patience, never))
        await asyncio.sleep(0.1)
        second, third = (asyncio.create_task(wait(patience, event)) for event in (never, soon))
        soon.set()
        answers = [await third, await first]
        assert not second.done()
        return [*answers, await second]

    assert asyncio.run(run()) == ["in time", "too long", "too long"]


def test_a_task_that_somebody_else_cancels_is_cancelled() -> None:
    async def run() -> None:
        async def wait() -> None:
            with Patience(seconds_max=10):
                await asyncio.Event().wait()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_a_task_can_wait_again() -> None:
    async def run() -> None:
        patience = Patience(seconds_max=0.05)
        for _time in range(2):
            with pytest.raises(TimeoutError), patience:
                await asyncio.Event().wait()
        with patience:
            await asyncio.sleep(0)

    asyncio.run(run())
