"""Django sees the same request through the RSGI application as through a WSGI server."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest

from web.reservations.calls import read_call
from web.wsgi_request import environ_of, headers_of


def request(path: str, *, headers: Sequence[tuple[str, str]] = (), **more: Any) -> WSGIRequest:
    scope = {
        "proto": "http",
        "http_version": "1.1",
        "server": "127.0.0.1:8000",
        "client": "192.0.2.7:50123",
        "scheme": "http",
        "method": "GET",
        "path": path,
        "query_string": "page=2&name=%E8%8C%B6",
        "authority": None,
        "headers": dict(headers) if not headers else SimpleNamespace(items=lambda: headers),
        **more,
    }
    return WSGIRequest(environ_of(SimpleNamespace(**scope)))  # type: ignore[arg-type]


def test_path_and_query() -> None:
    seen = request("/sales/茶/100%/")
    assert seen.path == "/sales/茶/100%/"
    assert seen.GET.dict() == {"page": "2", "name": "茶"}


@pytest.mark.parametrize(
    ("client", "address"), [("192.0.2.7:50123", "192.0.2.7"), ("[2001:db8::7]:50123", "2001:db8::7")]
)
def test_the_client_address_has_no_port(client: str, address: str) -> None:
    assert request("/", client=client).META["REMOTE_ADDR"] == address


def test_repeated_headers_are_joined() -> None:
    headers = [("host", "shop.example"), ("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "2.2.2.2")]
    seen = request("/", headers=[*headers, ("cookie", "a=1"), ("cookie", "b=2")])
    assert seen.META["HTTP_X_FORWARDED_FOR"] == "1.1.1.1,2.2.2.2"
    assert seen.COOKIES == {"a": "1", "b": "2"}


def test_a_call_with_a_header_that_came_twice_is_for_a_view() -> None:
    path, headers = "/api/v1/sale-items/7/live/", [("host", "shop.example"), ("accept", "*/*")]
    for more, is_ordinary in (([], True), ([("accept", "*/*")], False)):
        found = SimpleNamespace(items=lambda more=more: [*headers, *more])
        scope = SimpleNamespace(method="GET", query_string="", authority=None, scheme="http", headers=found)
        call = read_call(scope, path, headers_of(scope), b"")  # type: ignore[arg-type]
        assert (call is not None) is is_ordinary


def test_a_header_with_an_underscore_is_dropped() -> None:
    assert "HTTP_X_FORWARDED_PROTO" not in request("/", headers=[("x_forwarded_proto", "https")]).META


def test_a_content_type_is_no_ordinary_header() -> None:
    seen = request("/", headers=[("content-type", "application/json"), ("content-length", "2")])
    assert (seen.content_type, seen.META["CONTENT_LENGTH"]) == ("application/json", "2")


def test_http_2_names_the_host_without_a_header() -> None:
    assert request("/", authority="localhost:8000", http_version="2").get_host() == "localhost:8000"
