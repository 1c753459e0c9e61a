"""Django sees the same request through the RSGI application as through a WSGI server."""

from collections.abc import Sequence
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.test import RequestFactory, override_settings
from hypothesis import given
from hypothesis import strategies as st

from shop.http.client_address import client_address
from shop.http.utf8_requests import Utf8Request
from shop.wsgi import application
from web.reservations.calls import read_call
from web.shells import asked_of
from web.wsgi_request import call_wsgi, environ_of, headers_of

# What clients and proxies write into X-Forwarded-For.
ENTRIES = ["198.51.100.7", "2001:db8::7", "[2001:db8::7]:4711", "unknown", "", " 203.0.113.9:80"]


def scope_of(path: str, *, headers: Sequence[tuple[str, str]] = (), **more: Any) -> Any:
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
        "headers": SimpleNamespace(items=lambda: headers),
        **more,
    }
    return SimpleNamespace(**scope)


def request(path: str, **more: Any) -> WSGIRequest:
    return WSGIRequest(environ_of(scope_of(path, **more)))


def test_path_and_query() -> None:
    seen = request("/sales/茶/100%/")
    assert seen.path == "/sales/茶/100%/"
    assert seen.GET.dict() == {"page": "2", "name": "茶"}


def test_a_query_with_letters_as_they_are_is_read_as_an_encoded_one() -> None:
    assert request("/search/", query_string="q=茶é").GET.dict() == {"q": "茶é"}


@pytest.mark.parametrize("kind", ["text/html; charset=latin-1", "text/html; charset=zlib", "text/html; a*=none''%41"])
def test_no_charset_that_a_client_names_changes_how_its_query_is_read(db: None, kind: str) -> None:
    # The answer to a search is kept for others who ask the same.
    asked = scope_of("/healthz", headers=[("host", "localhost"), ("content-type", kind)])
    assert Utf8Request(environ_of(asked)).GET.dict() == {"page": "2", "name": "茶"}
    assert call_wsgi(application, environ_of(asked))[0] == 200


def test_a_body_of_an_unreadable_type_is_refused(db: None) -> None:
    unreadable = [("content-type", "application/json; a*=none''%41"), ("content-length", "2")]
    headers = [("host", "localhost"), *unreadable]
    environ = environ_of(scope_of("/api/v1/auth/token/", method="POST", headers=headers))
    assert call_wsgi(application, {**environ, "wsgi.input": BytesIO(b"{}")})[0] == 415


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


def test_cookies_and_addresses_in_two_fields_are_one_header_and_what_else_came_twice_is_for_a_view() -> None:
    path, twice = "/api/v1/sale-items/7/live/", [("accept", "*/*")] * 2
    cookies = [("cookie", "django_language=zh-hans"), ("cookie", "a=b")]
    addresses = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "192.0.2.2")]
    for headers in ([], cookies, addresses, [*cookies, *addresses]):
        for more, is_ordinary in (([], True), ([("accept", "*/*")], True), (twice, False)):
            scope = scope_of(path, headers=[("host", "shop.example"), *headers, *more], query_string="")
            found, environ = headers_of(scope), environ_of(scope)
            assert found.get("cookie") == environ.get("HTTP_COOKIE")
            assert found.get("x-forwarded-for") == environ.get("HTTP_X_FORWARDED_FOR")
            assert (read_call(scope, path, found, b"") is not None) is is_ordinary
    assert (found["cookie"], found["x-forwarded-for"]) == ("django_language=zh-hans; a=b", "192.0.2.1,192.0.2.2")


@given(
    entries=st.lists(st.lists(st.sampled_from(ENTRIES), min_size=1).map(", ".join), max_size=4),
    proxies=st.integers(0, 4),
)
def test_the_fields_of_two_proxies_are_one_list_in_which_a_client_cannot_hide_the_last(
    entries: list[str], proxies: int
) -> None:
    scope = scope_of("/", headers=[("x-forwarded-for", entry) for entry in entries])
    joined: dict[str, Any] = {"HTTP_X_FORWARDED_FOR": ", ".join(entries)} if entries else {}
    with override_settings(TRUSTED_PROXIES=proxies):
        in_one_field = client_address(RequestFactory().get("/", REMOTE_ADDR="192.0.2.7", **joined))
        assert client_address(WSGIRequest(environ_of(scope))) == in_one_field
    assert headers_of(scope).get("x-forwarded-for") == environ_of(scope).get("HTTP_X_FORWARDED_FOR")


def test_a_header_with_an_underscore_is_dropped() -> None:
    assert "HTTP_X_FORWARDED_PROTO" not in request("/", headers=[("x_forwarded_proto", "https")]).META


def test_a_content_type_is_no_ordinary_header() -> None:
    seen = request("/", headers=[("content-type", "application/json"), ("content-length", "2")])
    assert (seen.content_type, seen.META["CONTENT_LENGTH"]) == ("application/json", "2")


def test_http_2_names_the_host_without_a_header() -> None:
    assert request("/", authority="localhost:8000", http_version="2").get_host() == "localhost:8000"


@pytest.mark.parametrize(("authority", "header"), [("shop:80", "other:81"), ("shop:80", None), (None, "shop:80")])
def test_a_host_in_the_address_is_the_host_for_memory_and_django(authority: str | None, header: str | None) -> None:
    path, headers = "/api/v1/sale-items/7/live/", [("host", header)] if header else []
    scope = scope_of(path, authority=authority, headers=headers, query_string="")
    call = read_call(scope, path, headers_of(scope), b"")
    assert call is not None
    assert call.context[0] == environ_of(scope)["HTTP_HOST"] == "shop:80"
    public = "/api/v1/products/"
    asked = asked_of(scope, public, headers_of(scope))
    assert asked is not None
    assert asked[2] == "shop:80"
