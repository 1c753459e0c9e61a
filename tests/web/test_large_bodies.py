"""Bodies that many sockets announce, or send, never keep others from sending theirs: measured with real sockets."""

import contextlib
import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.steps.caller import ask
from web.bodies import LARGE_BYTES_MAX, Bodies, BodyRefused, bytes_max

# Beside each other for each path; more than there is room for.
SOCKETS = 170
API, PAGE, ADMIN = "/api/v1/auth/token/", "/accounts/login/", "/admin/login/"
PATHS = (API, PAGE, ADMIN)


def announced(port: int, path: str, length: int) -> socket.socket:
    """A socket that announced a body and sends none of it."""
    one = socket.create_connection(("127.0.0.1", port), 20)
    one.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()
    )
    return one


@pytest.mark.django_db(transaction=True)
def test_510_sockets_that_announce_the_most_keep_no_small_body_out(live_shop: str) -> None:
    port = urlsplit(live_shop).port or 0
    with contextlib.ExitStack() as stack:
        for path in PATHS * SOCKETS:
            stack.enter_context(announced(port, path, bytes_max(path)))
        for attempt in range(6):
            wrong = json.dumps({"username": f"number {attempt}", "password": "b"})
            sent = {"method": "POST", "body": wrong, "content_type": "application/json"}
            # Wrong credentials, and a form without its CSRF token: both have been read and answered by Django.
            assert [ask(live_shop, other, **sent).status for other in PATHS] == [401, 403, 403]


@pytest.mark.django_db(transaction=True)
def test_the_bound_depends_on_the_path(live_shop: str) -> None:
    for path in PATHS:
        with announced(urlsplit(live_shop).port or 0, path, bytes_max(path) + 1) as each:
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


def test_a_body_larger_than_all_places_is_taken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PICTURE_BYTES_MAX", 2 * LARGE_BYTES_MAX)
    bodies, length = Bodies(), 2 * LARGE_BYTES_MAX
    bodies.take(ADMIN, length=length)
    with pytest.raises(BodyRefused):
        bodies.take(ADMIN, length=length)
