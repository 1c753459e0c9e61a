"""Pages and JSON that Django answers are compressed; the answers of a stampede, pictures and files are not."""

import gzip
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from rest_framework.test import APIClient

from orders.models import Order
from seckill.models import SaleItem
from shop.http.compression import Compression
from shop.models import Product
from tests.steps.buying import reserve_by_api, signed_in
from tests.steps.cast import PassFor

pytestmark = pytest.mark.django_db

ZIPPED: Any = {"HTTP_ACCEPT_ENCODING": "gzip"}


def test_pages_and_answers_are_compressed(client: Client, order: Order, buyer: User, admin_client: Client) -> None:
    Product.objects.update(description="The first leaves of the year. " * 10)
    for path in ("/products/?max_price=50", "/api/v1/products/?search=longjing", "/api/schema/"):
        check_zipped(client.get(path, follow=True, **ZIPPED))
    client.force_login(buyer)
    for path in ("/orders/", order.get_absolute_url(), "/accounts/", "/cart/"):
        check_zipped(client.get(path, **ZIPPED))
    check_zipped(signed_in(buyer).get(f"/api/v1/orders/{order.number}/", **ZIPPED))
    check_zipped(admin_client.get("/admin/orders/order/", **ZIPPED))


def test_a_client_that_refuses_gzip_gets_plain_answers(as_buyer: Client, order: Order) -> None:
    for path in (order.get_absolute_url(), "/products/?max_price=50"):
        for refusal in ("gzip;q=0", "br, gzip; q=0.0"):
            answer = as_buyer.get(path, headers={"accept-encoding": refusal}, follow=True)
            assert answer.status_code == 200
            assert "Content-Encoding" not in answer, path
            assert "Accept-Encoding" in answer["Vary"]
        check_zipped(as_buyer.get(path, headers={"accept-encoding": "br;q=0, gzip;q=0.5"}, follow=True))


def check_zipped(answer: Any) -> None:
    assert (answer.status_code, answer["Content-Encoding"]) == (200, "gzip"), answer.request
    assert "Accept-Encoding" in answer["Vary"]
    assert len(gzip.decompress(answer.content)) > len(answer.content)


def test_the_length_of_a_compressed_page_tells_nothing(client: Client, db: None) -> None:
    assert len({len(client.get("/accounts/login/", **ZIPPED).content) for _time in range(20)}) > 5


def test_the_answers_of_a_stampede_are_not(item: SaleItem, buyer: User, rival: User, pass_for: PassFor) -> None:
    api = signed_in(buyer)
    reserved = reserve_by_api(item.pk, pass_for(rival, item), **ZIPPED)
    answers = [
        reserved,
        APIClient().get(f"/api/v1/sale-items/{item.pk}/live/", **ZIPPED),
        APIClient().get(f"/api/v1/sales/{item.sale_id}/live/", **ZIPPED),
        api.post(f"/api/v1/sale-items/{item.pk}/passes/", **ZIPPED),
        signed_in(rival).get(f"/api/v1/reservations/{reserved.json()['id']}/", **ZIPPED),
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 201, 200]
    assert [answer for answer in answers if "Content-Encoding" in answer or "Accept-Encoding" in answer["Vary"]] == []


def compressed(response: Any) -> Any:
    request = RequestFactory().get("/", **ZIPPED)
    middleware: Any = Compression(lambda _request: response)
    assert isinstance(request, HttpRequest)
    return middleware(request)


def test_content_that_is_compressed_already_stays() -> None:
    for content_type in ("image/webp", "application/pdf", "application/zip"):
        assert "Content-Encoding" not in compressed(HttpResponse(b"a" * 5000, content_type=content_type)), content_type


def test_a_table_that_is_written_while_it_is_read_stays_a_stream() -> None:
    written: list[int] = []

    def rows() -> Any:
        for number in range(200):
            written.append(number)
            yield f"{number},{hash(str(number))}\r\n" * 500

    parts = iter(compressed(StreamingHttpResponse(rows(), content_type="text/csv")))
    first = next(parts)
    assert len(written) < 20
    assert gzip.decompress(first + b"".join(parts)).startswith(b"0,")
