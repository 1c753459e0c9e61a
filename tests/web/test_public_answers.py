"""Lists of the API and their details from memory: as the view gives them, with every header, and for everybody."""

import gzip
import re
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from seckill.models import Sale, SaleItem
from shop.http.request_log import HEADER as REQUEST_ID
from shop.models import Product, Variant
from tests.steps.caller import ask
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db(transaction=True)

SERVER_TIME = re.compile(rb'"server_time":"[^"]*"')
# Of the server, and of one request.
OF_THE_SERVER = {"server", "date", REQUEST_ID.lower()}
LISTS = ("/api/v1/sales/", "/api/v1/products/", "/api/v1/categories/")

Answer = tuple[int, dict[str, str], bytes]


def of_shop(url: str, path: str, **kind: str) -> Answer:
    answer = ask(url, path, **kind)
    return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.body


def of_view(url: str, path: str, *, method: str = "GET", **headers: str) -> Answer:
    """The answer of Django without a memory."""
    named = {name.replace("_", "-"): value for name, value in {"host": urlsplit(url).netloc, **headers}.items()}
    answer = Client().generic(method, path, headers=named)
    return answer.status_code, {name.lower(): value for name, value in answer.items()}, answer.content


def comparable(answer: Answer) -> Answer:
    """Without the time; unzipped, since each zipped answer of Django has another length.

    Each process writes the parts of the policy in another order.
    """
    status, headers, body = answer
    rest = {name: value for name, value in headers.items() if name not in OF_THE_SERVER}
    rest["content-security-policy"] = "; ".join(sorted(rest.get("content-security-policy", "").split("; ")))
    # The web server adds it where it is missing, and leaves it out of a 304.
    rest.setdefault("content-length", "0" if status == 304 else str(len(body)))
    if "content-encoding" in rest:
        assert int(rest.pop("content-length")) == len(body)
        body = gzip.decompress(body)
    return status, rest, SERVER_TIME.sub(b"", body)


@pytest.fixture
def paths(item: SaleItem) -> list[str]:
    """More products than a page has, so that the list names the address of the next one."""
    for number in range(20):
        goods(f"tea-{number}")
    # Django zips an answer only if that makes it shorter, for which these are long enough.
    Product.objects.filter(pk=item.product.pk).update(description="The first leaves of the year. " * 10)
    Sale.objects.update(name="Spring sale " * 8)
    Sale.objects.update(name_zh_hans="春季特卖" * 16)
    parts = ["/api/v1/products/?search=tea&page_size=5", "/api/v1/sales/?phase=open"]
    return [*LISTS, f"/api/v1/sales/{item.sale_id}/", f"/api/v1/products/{item.product.slug}/", *parts]


def test_each_answer_is_that_of_the_view(live_shop: str, paths: list[str], buyer: User) -> None:
    browser = Client()
    browser.force_login(buyer)
    session = f"sessionid={browser.cookies['sessionid'].value}; signed_in=x"
    kinds: list[dict[str, str]] = [
        {},
        {"method": "HEAD"},
        {"accept": "application/json"},
        {"accept_encoding": "gzip, br"},
        {"accept_language": "zh-CN,zh;q=0.9", "accept": "*/*"},
        {"accept_language": "fr"},
        {"accept_language": "zh-CN", "cookie": "django_language=en"},
        {"cookie": "a=b; django_language=zh-hans", "method": "HEAD"},
        {"cookie": session},
        {"cookie": session, "authorization": "Bearer 7"},
        {"if_none_match": "*"},
        {"if_none_match": '"other"'},
    ]
    for path in paths:
        conditional = []
        for language in ("en", "zh-hans") if path in (paths[1], paths[3]) else ():
            etag = ask(live_shop, path, accept_language=language).headers["etag"]
            for known in (etag, f"W/{etag}", f'"other", {etag}', etag.strip('"')):
                asked = {"accept_language": language, "if_none_match": known}
                conditional += [asked, asked | {"accept_encoding": "gzip"}, asked | {"method": "HEAD"}]
        for kind in kinds + conditional:
            given, view = of_shop(live_shop, path, **kind), of_view(live_shop, path, **kind)
            assert comparable(given) == comparable(view), (path, kind)
            assert REQUEST_ID.lower() not in given[1], (path, kind)
    assert f"http://{urlsplit(live_shop).netloc}/api/v1/products/?page=2" in ask(live_shop, paths[1]).headers["link"]


FOR_THE_VIEW: list[tuple[str, dict[str, Any], int]] = [
    ("/api/v1/sales/?page=1", {"content_length": "0"}, 200),
    ("/api/v1/products/?search=tea", {"host": "evil.example"}, 400),
    ("/api/v1/products/?search=tea", {"accept": "application/json; indent=4"}, 200),
    (f"/api/v1/products/?search={'x' * 500}", {}, 400),
    ("/products/?page=99", {}, 404),
    ("/api/v1/products/?colour=red", {}, 400),
    ("/api/v1/sales/999999/", {}, 404),
    ("/api/v1/products/none/", {}, 404),
    ("/api/v1/sales/", {"host": "evil.example"}, 400),
    ("/api/v1/sales/", {"accept": "text/html"}, 406),
    ("/api/v1/products/", {"accept": "application/json; indent=4"}, 200),
    ("/api/v1/sales/", {"if_match": '"other"'}, 412),
    ("/api/v1/sales/", {"method": "POST"}, 405),
    ("/api/v1/sales/", {"method": "OPTIONS"}, 200),
    ("/api/v1/sales/", {"accept_language": "en," * 200}, 200),
]


def test_other_calls_are_for_the_view(live_shop: str, paths: list[str]) -> None:
    ask(live_shop, "/api/v1/sales/")
    for path, headers, status in FOR_THE_VIEW * 2:
        given, view = of_shop(live_shop, path, **headers), of_view(live_shop, path, **headers)
        assert given[0] == status, (path, headers)
        assert REQUEST_ID.lower() in given[1], (path, headers)
        assert comparable(given) == comparable(view), (path, headers)


def test_an_address_with_a_host_leaves_no_other_host_to_the_next_caller(live_shop: str, paths: list[str]) -> None:
    host = urlsplit(live_shop).netloc
    part = "/api/v1/products/?page_size=1&page=2"
    # Where the address names the host, the header does not count (RFC 9112, 3.2.2).
    for path, header in ((f"http://{host}{part}", "localhost:6666"), (part, host)):
        _status, headers, _body = of_shop(live_shop, path, host=header)
        assert f"http://{host}/" in headers["link"]
        assert "6666" not in headers["link"]


def test_a_change_of_staff_is_seen_after_a_second(live_shop: str, item: SaleItem, paths: list[str]) -> None:
    waiting = {path: ask(live_shop, path).headers["etag"] for path in paths if path != "/api/v1/categories/"}
    changed_s = time.monotonic()
    Sale.objects.update(name="Autumn sale")
    Product.objects.filter(pk=item.product.pk).update(name="Autumn tea")
    Product.objects.filter(slug="tea-19").update(name="Winter tea")
    Variant.objects.filter(product__slug="tea-19").update(price_minor=4321)
    while waiting:
        assert time.monotonic() < changed_s + 5, f"{list(waiting)} stayed as they were"
        for path, etag in list(waiting.items()):
            answer = ask(live_shop, path, if_none_match=etag)
            if answer.status == 200:
                assert re.search(b"Autumn|Winter", answer.body)
                del waiting[path]
