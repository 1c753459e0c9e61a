"""Requests whose body never comes, or comes byte by byte, hold no thread: measured with real sockets."""

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.steps.caller import ask
from web import bodies

pytestmark = pytest.mark.django_db(transaction=True)

# For each of the two processes more than the eight threads that it has for pages.
SOCKETS = 40
ANNOUNCED = (
    b"POST /api/v1/auth/token/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n"
)


@pytest.fixture
def port(live_shop: str) -> int:
    return urlsplit(live_shop).port or 0


@contextlib.contextmanager
def waiting_sockets(port: int) -> Iterator[list[socket.socket]]:
    """Sockets that announced a body of 100 bytes and sent none."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(SOCKETS)]
        for each in sockets:
            each.sendall(ANNOUNCED)
        time.sleep(0.5)
        yield sockets


def test_announced_bodies_hold_no_thread(live_shop: str, port: int) -> None:
    with waiting_sockets(port):
        answers = [ask(live_shop, "/healthz") for _attempt in range(20)]
        assert ask(live_shop, "/api/v1/sales/").status == 200
        # Another client's body is read meanwhile.
        person = {"body": '{"username": "a", "password": "b"}', "content_type": "application/json"}
        wrong = ask(live_shop, "/api/v1/auth/token/", method="POST", **person)
        assert json.loads(wrong.body)["code"] == "wrong_credentials"
    assert {answer.status for answer in answers} == {200}
    # Some milliseconds on an idle machine. A call that waits for a thread waits for the bodies.
    assert max(answer.seconds for answer in answers) < bodies.BODY_SECONDS_MAX / 2


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
