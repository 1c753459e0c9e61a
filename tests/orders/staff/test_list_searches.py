"""Lists of staff find by indexes, count no further than they lead, and need no more statements for more rows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from bench.demo.long_lists import load_many
from bench.demo.past_orders import load_orders
from orders.models import Mail, Order, Payment, ShippingAddress
from orders.staff.order_search import find_orders
from shop.demo.loading import load_goods
from shop.models import StockChange, Variant
from shop.staff import admin_base
from tests.steps.shop import statements_for

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

FEW, MANY = 60, 400
LISTS = {
    "/admin/orders/order/": ["", "?status__exact=completed", "?q=demo", "?q=A", "?p=2"],
    "/admin/orders/ordertolookat/": ["?todo=all", "?q=demo"],
    "/admin/orders/mail/": ["", "?state=sent", "?q=demo", "?kind__exact=paid"],
    "/admin/orders/paymentevent/": ["", "?applied=yes", "?q=1"],
    "/admin/shop/product/": ["", "?q=tray", "?stock=low"],
    "/admin/shop/variant/": ["", "?q=tray", "?stock=low"],
    "/admin/shop/stockchange/": ["", "?kind__exact=sold", "?q=MANY-1"],
    "/admin/shop/customer/": ["", "?q=demo"],
}
ADDRESSES = [path + query for path, queries in LISTS.items() for query in queries]


@pytest.fixture(scope="module", autouse=True)
def _long_lists(rows_of_the_file: None) -> None:
    load_goods()
    load_many(30)
    load_orders(FEW)


def test_no_list_needs_more_statements_for_more_rows(client: Client) -> None:
    few = {address: statements_for(client, address) for address in ADDRESSES}
    load_many(150)
    load_orders(MANY)
    assert {address: statements_for(client, address) for address in ADDRESSES} == few


def found(client: Client, path: str, text: str) -> set[Any]:
    return set(client.get(path, {"q": text}).context["cl"].queryset.values_list("pk", flat=True))


def test_an_order_is_found_by_the_name_on_its_parcel() -> None:
    address = ShippingAddress.objects.order_by("pk")[0]
    assert address.order_id in find_orders(Order.objects.all(), address.name).values_list("pk", flat=True)
    assert address.order_id in find_orders(Order.objects.all(), address.name[:1]).values_list("pk", flat=True)
    assert not find_orders(Order.objects.all(), "Nobody At All").exists()


def test_a_guest_is_found_by_the_whole_address_in_any_letters() -> None:
    order = Order.objects.filter(buyer=None)[0]
    assert order.pk in find_orders(Order.objects.all(), order.email.upper()).values_list("pk", flat=True)


@pytest.mark.parametrize("text_of", [lambda o: o.code, lambda o: o.shown_code, lambda o: str(o.number)])
def test_mails_are_found_by_the_number_of_their_order(client: Client, text_of: Callable[[Order], str]) -> None:
    order = Order.objects.filter(mails__isnull=False)[0]
    assert found(client, "/admin/orders/mail/", text_of(order)) == set(
        Mail.objects.filter(order=order).values_list("pk", flat=True)
    )


def test_events_are_found_by_payment_reference_event_and_order(client: Client) -> None:
    payment = Payment.objects.select_related("order")[0]
    texts = [str(payment.pk), payment.pk.hex[:8], payment.provider_reference, payment.order.shown_code]
    answers = [found(client, "/admin/orders/paymentevent/", text) for text in texts]
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)
    assert not found(client, "/admin/orders/paymentevent/", "sim_demo")


def test_the_journal_is_found_by_sku_and_by_order(client: Client) -> None:
    order, variant = Order.objects.all()[0], Variant.objects.filter(stock_changes__isnull=False)[0]
    journal = StockChange.objects.all()
    assert found(client, "/admin/shop/stockchange/", order.code) == set(
        journal.filter(reference=order.code).values_list("pk", flat=True)
    )
    assert found(client, "/admin/shop/stockchange/", variant.sku.lower()) == set(
        journal.filter(variant=variant).values_list("pk", flat=True)
    )


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (ShippingAddress.objects.filter(name__istartswith="王"), "orders_address_name"),
        (Order.objects.filter(buyer=None, email__iexact="a@example.com"), "orders_order_of_guest"),
        (Payment.objects.filter(provider="simulated", provider_reference="x"), "orders_payment_reference_once"),
    ],
)
def test_a_search_uses_an_index(query: Any, index: str) -> None:
    with connection.cursor() as cursor:
        # The tables are small, so PostgreSQL would read all of them.
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert index in query.explain()


def test_a_long_list_is_counted_up_to_a_bound(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(admin_base, "LISTED_MAX", 50)
    listed = client.get("/admin/orders/order/").context["cl"]
    assert listed.result_count == 50
    assert listed.paginator.num_pages == 2
    assert client.get("/admin/orders/order/?p=3").status_code == 302
    with django_assert_max_num_queries(20) as queries:
        client.get("/admin/orders/order/")
    counts = [query["sql"] for query in queries.captured_queries if "COUNT(" in query["sql"]]
    assert any("LIMIT 50" in sql for sql in counts)
