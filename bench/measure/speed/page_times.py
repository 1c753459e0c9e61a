"""How long the server works on a page, and how many statements it takes: the whole way from request to answer, without
a network and one page at a time."""

import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from bench.demo.long_lists import SLUG_BEGINNING
from bench.measure.speed.part import WrongAnswer
from bench.percentiles import percentile
from orders.models import Order, OrderStatus, Payment
from shop.models import Product
from shop.staff.admin_base import LISTED_MAX, ModelAdmin

HOST = "127.0.0.1"


class TooFewRows(Exception):
    """The shop lacks rows that the addresses of the pages name."""


@dataclass(frozen=True, slots=True)
class PageTimes:
    """Of one page that was asked for several times."""

    median_ms: float
    p99_ms: float
    statements: int


def measure_pages(pages: Mapping[str, str], *, client: Client, times: int) -> dict[str, PageTimes]:
    """All pages in turn, `times` times, after one time that does not count. Raises WrongAnswer."""
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in pages}
    for turn in range(times + 1):
        for name, address in pages.items():
            one = measure_once(client, address)
            if turn:
                found[name].append(one)
    return {name: times_of(ones) for name, ones in found.items()}


def measure_once(client: Client, address: str) -> tuple[float, int]:
    statements = 0

    def count(execute: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal statements
        statements += 1
        return execute(*arguments)

    with connection.execute_wrapper(count):
        began_s = time.perf_counter()
        response = client.get(address)
        seconds = time.perf_counter() - began_s
    if response.status_code != 200:
        raise WrongAnswer(f"GET {address} got {response.status_code}")
    return seconds * 1e3, statements


def times_of(ones: list[tuple[float, int]]) -> PageTimes:
    sorted_ms = sorted(milliseconds for milliseconds, _ in ones)
    return PageTimes(
        median_ms=statistics.median(sorted_ms),
        p99_ms=percentile(sorted_ms, 0.99),
        statements=max(statements for _, statements in ones),
    )


@contextmanager
def staff_client() -> Iterator[Client]:
    """Somebody who may see all of the admin, for the length of a `with`: no superuser stays in the shop."""
    client = Client(SERVER_NAME=HOST)
    person = User.objects.create_superuser(f"measured-staff-{secrets.token_hex(4)}")
    try:
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        yield client
    finally:
        client.logout()
        person.delete()


def buyer_client() -> Client:
    return Client(SERVER_NAME=HOST)


def staff_pages() -> dict[str, str]:
    """The lists of the admin with search and filters, by short names. Raises TooFewRows."""
    completed = Order.objects.filter(status=OrderStatus.COMPLETED, buyer__isnull=False).select_related("buyer")
    try:
        order = completed.order_by("pk")[completed.count() // 2]
        guest = Order.objects.filter(buyer=None).order_by("-pk")[0]
        payment = Payment.objects.filter(order=order)[0]
        many = Product.objects.filter(slug__startswith=SLUG_BEGINNING).order_by("pk")[7]
    except IndexError:
        raise TooFewRows("The shop has too few products or orders of `load_many`.") from None
    assert order.buyer is not None
    month = f"{order.created_at:%Y-%m}"
    lists = {
        "orders": "orders/order/",
        "orders_last_page": f"orders/order/?p={min(Order.objects.count(), LISTED_MAX) // ModelAdmin.list_per_page}",
        "orders_paid": "orders/order/?status__exact=paid",
        "orders_refunded": "orders/order/?status__exact=refunded",
        "orders_month": f"orders/order/?created_at_from_0={month}-01&created_at_to_0={month}-28",
        "orders_of_product": f"orders/order/?lines__variant__product__id__exact={many.pk}",
        "orders_by_number": f"orders/order/?q={order.shown_code}",
        "orders_by_mail": f"orders/order/?q={order.buyer.email}",
        "orders_by_guest_mail": f"orders/order/?q={guest.email}",
        "orders_by_name": f"orders/order/?q={order.buyer.last_name}{order.buyer.first_name}",
        "orders_by_nothing": "orders/order/?q=nobody-has-this-name",
        "attention": "orders/ordertolookat/?todo=all",
        "mails": "orders/mail/",
        "mails_given_up": "orders/mail/?state=given_up",
        "mails_by_number": f"orders/mail/?q={order.code}",
        "mails_by_mail": f"orders/mail/?q={order.buyer.email}",
        "events": "orders/paymentevent/",
        "events_waiting": "orders/paymentevent/?applied=no",
        "events_by_reference": f"orders/paymentevent/?q={payment.provider_reference}",
        "products": "shop/product/",
        "products_by_name": "shop/product/?q=bamboo",
        "products_low": "shop/product/?stock=low",
        "products_by_price": "shop/product/?o=4",
        "stock": "shop/variant/",
        "stock_low": "shop/variant/?stock=low",
        "stock_by_sku": "shop/variant/?q=MANY-777",
        "journal": "shop/stockchange/",
        "journal_by_order": f"shop/stockchange/?q={order.code}",
        "people": "shop/customer/",
        "people_by_mail": f"shop/customer/?q={order.buyer.email}",
        "categories": "shop/category/",
        "sales": "seckill/sale/",
        "home": "",
    }
    return {name: f"/admin/{path}" for name, path in lists.items()}


def search_pages() -> dict[str, str]:
    """Words of all products, of some and of none, in both languages, with typos; and the ways to sort."""
    words = {
        "everywhere": "q=made",
        "everywhere_cheapest": "q=made&sort=price",
        "everywhere_dearest": "q=made&sort=-price",
        "everywhere_by_name": "q=made&sort=name",
        "everywhere_in_stock": "q=made&available=on",
        "everywhere_chinese": "q=用心制作",
        "some": "q=bamboo",
        "some_chinese": "q=竹制托盘",
        "two_words": "q=bamboo+tray",
        "typo": "q=porcelan",
        "typo_chinese": "q=竹制托盆",
        "nothing": "q=qqqqqqq",
    }
    return {name: f"/search/?{query}" for name, query in words.items()}
