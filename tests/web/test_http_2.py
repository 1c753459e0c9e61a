"""Calls over HTTP/2, in which a body may come without a header that says so, and none for HEAD (RFC 9113, 8.1)."""

import json
from collections.abc import Iterator
from contextlib import closing
from socket import create_connection
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User

from shop.models import Product
from tests.steps.cast import PassFor
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4


def test_a_body_without_a_length_is_refused_and_reserves_nothing(
    live_shop: str, product: Product, buyer: User, pass_for: PassFor
) -> None:
    item = make_item(product, per_buyer_max=2)
    headers = {"authorization": f"Pass {pass_for(buyer, item)}", "content-type": "application/json"}
    path, body = f"/api/v1/sale-items/{item.pk}/reservations/", b'{"units": 2}'
    assert post(live_shop, path, body, **headers)["code"] == "length_required"
    of_known_length = {**headers, "content-length": str(len(body))}
    assert [post(live_shop, path, body, **of_known_length)["units"] for _time in range(2)] == [2, 2]
    # Without a body, the same pass gets the same answer.
    assert post(live_shop, path, **headers)["units"] == 2


def test_a_head_has_no_body(live_shop: str) -> None:
    # From memory, and from Django.
    for path in ("/", "/api/v1/sales/", "/accounts/login/"):
        assert answer_to(live_shop, "GET", path)
        assert answer_to(live_shop, "HEAD", path) == b""


def post(url: str, path: str, body: bytes = b"", /, **headers: str) -> dict[str, Any]:
    """The JSON of the answer."""
    found: dict[str, Any] = json.loads(answer_to(url, "POST", path, body, **headers))
    return found


def answer_to(url: str, method: str, path: str, body: bytes = b"", /, **headers: str) -> bytes:
    address = urlsplit(url)
    named = {":method": method, ":scheme": "http", ":authority": address.netloc, ":path": path, **headers}
    fields = b"".join(b"\0" + text(name) + text(value) for name, value in named.items())
    sent = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", frame(SETTINGS, 0, b"", stream=0)]
    sent.append(frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), fields))
    if body:
        sent.append(frame(DATA, END_STREAM, body))
    with closing(create_connection((address.hostname or "", address.port or 0), 20)) as client:
        client.sendall(b"".join(sent))
        with client.makefile("rb") as answer:
            return b"".join(received(answer))


def frame(kind: int, flags: int, content: bytes, *, stream: int = 1) -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def text(value: str) -> bytes:
    """As HPACK writes it without a code (RFC 7541, 5.2). Up to 254 characters."""
    length = bytes([len(value)]) if len(value) < 127 else bytes([127, len(value) - 127])
    return length + value.encode()


def received(answer: Any) -> Iterator[bytes]:
    """The content of the answer."""
    flags = kind = 0
    while not (flags & END_STREAM and kind in (DATA, HEADERS)):
        head = answer.read(9)
        kind, flags, content = head[3], head[4], answer.read(int.from_bytes(head[:3], "big"))
        if kind == DATA:
            yield content
