"""Public pages over HTTP, from the real web server: for whom they are kept, and what they are like without memory."""

import gzip
import json
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from socket import create_connection
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from seckill.models import Sale, SaleItem
from tests.steps.caller import Reply, ask

pytestmark = pytest.mark.django_db(transaction=True)


def test_everybody_gets_the_same_page(live_shop: str, item: SaleItem, buyer: User) -> None:
    client = Client()
    client.force_login(buyer)
    session = f"sessionid={client.cookies['sessionid'].value}; signed_in=x; csrftoken={'a' * 32}"
    page, url = f"/sales/{item.sale_id}/", live_shop
    for path in ("/", "/zh-hans/", page, f"/zh-hans{page}"):
        # As many ways to ask as there are, and one document. Each second it may be another one: where the store is slow
        # to answer, the figures are missing. So they are compared by what each way has had so far.
        had: list[dict[str, Reply]] = [{} for _way in range(7)]
        same: set[str] = set()
        for _second in range(20):
            replies = [
                ask(url, path),
                ask(url, path, cookie=session),
                ask(url, path, accept_language="zh-CN", cookie="django_language=en"),
                ask(url, f"{path}?utm_source=mail", hx_request="true"),
                ask(url, path, if_none_match="*", cookie=session),
                ask(url, path, method="HEAD"),
                ask(url, path, accept_encoding="gzip"),
            ]
            for replies_so_far, reply in zip(had, replies, strict=True):
                replies_so_far[reply.headers["ETag"].replace("-gzip", "")] = reply
            same = set.intersection(*map(set, had))
            if same:
                break
        assert same
        tag = same.pop()
        *asked, known, head, zipped = (replies_so_far[tag] for replies_so_far in had)
        assert {answer.status for answer in asked} == {200}
        assert len({answer.body for answer in asked}) == 1
        for answer in asked:
            assert answer.headers["Set-Cookie"] is None
            assert answer.headers["Cache-Control"] == "public, max-age=1"
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "camera=()" in answer.headers["Permissions-Policy"]
        body = asked[0].body
        assert b"csrfmiddlewaretoken" not in body.replace(b'name="csrfmiddlewaretoken" value=""', b"")
        assert (known.status, known.body) == (304, b"")
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Length"] == str(len(body))
        assert gzip.decompress(zipped.body) == body
        assert zipped.headers["Content-Length"] == str(len(zipped.body))
    # What is no page stays with Django.
    assert ask(url, "/", method="POST").status == 403
    assert ask(url, page, host="evil.example").status == 400
    assert ask(url, "/sales/999999/").status == 404
    assert ask(url, "/", cookie="django_language=zh-hans").headers["Location"] == "/zh-hans/"
    assert ask(url, "/", cookie="a=\xff; django_language=\xff").status == 200


def test_a_cookie_that_comes_in_a_second_field_counts(live_shop: str, item: SaleItem) -> None:
    for cookies in (("django_language=zh-hans", "a=b"), ("a=b", "django_language=zh-hans")):
        with closing(HTTPConnection(urlsplit(live_shop).netloc, timeout=20)) as client:
            client.putrequest("GET", "/")
            for cookie in cookies:
                client.putheader("Cookie", cookie)
            client.endheaders()
            answer = client.getresponse()
        assert (answer.status, answer.headers["Location"]) == (302, "/zh-hans/")


def test_a_search_from_memory_is_what_django_gives(live_shop: str, item: SaleItem) -> None:
    for path in ("/search/?q=tea", "/zh-hans/search/?q=tea&sort=price", "/products/?page=1"):
        for coding in ("gzip", ""):
            # The length leaves the call to Django.
            of_django = ask(live_shop, path, accept_encoding=coding, content_length="0")
            for _time in range(2):
                answer = ask(live_shop, path, accept_encoding=coding)
                assert text_of(answer) == text_of(of_django)
                assert names_in(answer) == names_in(of_django) - {"x-request-id"}
                assert answer.headers["ETag"].replace("-gzip", "") == of_django.headers["ETag"].removeprefix("W/")
        known = ask(live_shop, path, if_none_match=answer.headers["ETag"])
        assert (known.status, known.body) == (304, b"")


def test_a_search_whose_letters_the_browser_has_not_encoded_is_answered(live_shop: str, item: SaleItem) -> None:
    address = urlsplit(live_shop)
    with closing(create_connection((address.hostname or "", address.port or 0), 20)) as client:
        client.sendall(f"GET /search/?q=龙井 HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        answer = HTTPResponse(client)
        answer.begin()
        assert answer.status == 200
        assert "龙井" in answer.read().decode()


def test_a_header_that_cannot_be_read_is_not_taken_for_none(live_shop: str, buyer: User) -> None:
    client = Client()
    client.force_login(buyer)
    session = f"sessionid={client.cookies['sessionid'].value}"
    assert ask(live_shop, "/orders/", cookie=session).status == 200
    for headers in ({"cookie": f"a=\xe9; {session}"}, {"cookie": session, "x_forwarded_for": "\xe9, 192.0.2.1"}):
        answer = ask(live_shop, "/orders/", **headers)
        assert answer.status == 400
        assert b"not ASCII" in answer.body
    answer = ask(live_shop, "/api/v1/me/", authorization="Bearer \xe9")
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "bad_request")
    # Nothing depends on this one.
    assert ask(live_shop, "/orders/", cookie=session, user_agent="\xe9").status == 200


def text_of(answer: Reply) -> bytes:
    return gzip.decompress(answer.body) if answer.headers["Content-Encoding"] else answer.body


def names_in(answer: Reply) -> set[str]:
    return {name.lower() for name in answer.headers}


def test_a_change_is_seen_after_a_second(live_shop: str, item: SaleItem) -> None:
    page = f"/sales/{item.sale_id}/"
    etag = ask(live_shop, page).headers["ETag"]
    Sale.objects.filter(pk=item.sale_id).update(name="Autumn sale")
    give_up_s = time.monotonic() + 5
    while (answer := ask(live_shop, page, if_none_match=etag)).status != 200:
        assert time.monotonic() < give_up_s, "the old page was served for too long"
    assert b"Autumn sale" in answer.body


def test_without_the_memory_the_pages_are_the_same(client: Client, item: SaleItem, buyer: User) -> None:
    """As under another web server: Django answers each request."""
    client.force_login(buyer)
    for path in ("/", f"/zh-hans/sales/{item.sale_id}/"):
        answer = client.get(path)
        assert not answer.cookies
        assert answer["Cache-Control"] == "public, max-age=1"
        assert answer["Vary"] == "Accept-Encoding"
        again = client.get(path, headers={"if-none-match": answer["ETag"]})
        if again.status_code != 304:
            # The room of the countdown has become smaller in between, once, when less than an hour was left.
            again = client.get(path, headers={"if-none-match": again["ETag"]})
        assert again.status_code == 304
        assert client.post(path).status_code == 405
