"""Bodies that many sockets announce, or send, never keep others from sending theirs: measured with real sockets."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.steps.caller import ask
from web.bodies import LARGE_BYTES_MAX, Bodies, BodyRefused, bytes_max

SOCKETS = 512
API, PAGE, ADMIN = "/api/v1/auth/token/", "/accounts/login/", "/admin/login/"
PATHS = (API, PAGE, ADMIN)


@contextlib.contextmanager
def announced(port: int, path: str, length: int) -> Iterator[list[socket.socket]]:
    """Sockets that announced a body and send none of it."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(SOCKETS)]
        for each in sockets:
            each.sendall(head.encode())
        yield sockets


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", PATHS)
def test_512_sockets_that_announce_the_most_keep_no_small_body_out(path: str, live_shop: str) -> None:
    with announced(urlsplit(live_shop).port or 0, path, bytes_max(path)):
        for attempt in range(6):
            wrong = json.dumps({"username": f"{attempt} of {path}", "password": "b"})
            sent = {"method": "POST", "body": wrong, "content_type": "application/json"}
            # Wrong credentials, and a form without its CSRF token: both have been read and answered by Django.
            assert [ask(live_shop, other, **sent).status for other in PATHS] == [401, 403, 403]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", PATHS)
def test_the_bound_depends_on_the_path(path: str, live_shop: str) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(live_shop).port or 0), 10) as each:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {bytes_max(path) + 1}\r\n\r\n"
        each.sendall(head.encode())
        answer = http.client.HTTPResponse(each)
        answer.begin()
        assert (answer.status, answer.headers["Connection"]) == (413, "close")
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
    bodies, large = Bodies(), bytes_max(PAGE)
    taken = []
    while bodies.taken(PAGE) + large <= LARGE_BYTES_MAX:
        taken.append(bodies.take(PAGE, length=large))
    with pytest.raises(BodyRefused) as refused:
        bodies.take(PAGE, length=large)
    assert refused.value.status == 503
    # Small ones need no memory of those, and the admin has some of its own.
    assert bodies.take(PAGE, length=1000) == 0
    bodies.give_back(ADMIN, bodies.take(ADMIN, length=bytes_max(ADMIN)))
    for length in taken:
        bodies.give_back(PAGE, length)
    assert bodies.taken(PAGE) == bodies.taken(ADMIN) == 0


@pytest.mark.slow
def test_a_body_larger_than_all_places_is_taken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PICTURE_BYTES_MAX", 2 * LARGE_BYTES_MAX)
    bodies, length = Bodies(), 2 * LARGE_BYTES_MAX
    bodies.take(ADMIN, length=length)
    with pytest.raises(BodyRefused):
        bodies.take(ADMIN, length=length)
