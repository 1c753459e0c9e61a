"""Lists of staff find by indexes, count no further than they lead, and need no more statements for more rows."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from bench.demo.long_lists import load_many
from bench.demo.past_orders import load_orders
from orders.models import Attention, Mail, Order, Payment, RecordedPayment, ShippingAddress
from orders.models.order import digits_of, letters_and_digits_of
from orders.staff.order_search import find_orders
from shop.demo.loading import load_goods
from shop.models import StockChange, Variant
from shop.staff import admin_base
from tests.steps.shop import statements, statements_for
from tests.steps.staff import EVENTS, LOOK_AT, MAILS, ORDERS

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

ADDRESSES = [
    *(ORDERS, f"{ORDERS}?q=demo", f"{LOOK_AT}?todo=all", f"{MAILS}?q=demo", f"{EVENTS}?q=1"),
    *("/admin/shop/product/?q=tray", "/admin/shop/variant/?q=tray", "/admin/shop/stockchange/?q=MANY-1"),
    "/admin/shop/customer/?q=demo",
]


@pytest.fixture(scope="module", autouse=True)
def _long_lists(rows_of_the_file: None) -> None:
    load_goods()
    load_many(12)
    load_orders(12)


def test_no_list_needs_more_statements_for_more_rows(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    Order.objects.update(attention=Attention.PAID_TWICE)
    statements_for(client, ORDERS)
    counts = []
    for rows in (3, 9):
        monkeypatch.setattr(admin_base.ModelAdmin, "list_per_page", rows)
        counts.append({address: statements(client, address) for address in ADDRESSES})
    assert counts[0] == counts[1]


def found(client: Client, path: str, text: str) -> set[Any]:
    return set(client.get(path, {"q": text}).context["cl"].queryset.values_list("pk", flat=True))


def test_an_order_is_found_by_the_name_on_its_parcel_and_a_guest_by_the_address_in_any_letters() -> None:
    address, order = ShippingAddress.objects.order_by("pk")[0], Order.objects.filter(buyer=None)[0]
    for text, pk in (
        (address.name, address.order_id),
        (address.name[:1], address.order_id),
        (order.email.upper(), order.pk),
    ):
        assert find_orders(Order.objects.filter(pk=pk), text).exists(), text
    assert not find_orders(Order.objects.all(), "Nobody At All").exists()


@pytest.fixture
def parcel() -> Order:
    """An order with everything that people read out or copy."""
    order = Order.objects.filter(buyer=None)[0]
    Order.objects.filter(pk=order.pk).update(email="wen.chang@example.org", tracking_number="SF 1234 5678 901")
    ShippingAddress.objects.filter(order=order).delete()
    place = {"line1": "x", "city": "x", "postcode": "1", "country": "GB"}
    ShippingAddress.objects.create(order=order, name="Mary Ann Featherstone", phone="138-1234 5678", **place)
    RecordedPayment.objects.create(order=order, amount_minor=1, currency="CNY", reference="TX-2026/77")
    return order


READ_OUT = [
    *("13812345678", "138 1234 5678", "+86 138 1234 5678", "0086 13812345678", "12345678"),
    *("SF12345678901", "sf 1234 5678", "5678901", "Featherstone", "feather", "Mary"),
    *("wen.chang@example.org", "wen.chang", "TX-2026/77", "2026/77"),
]


def test_an_order_is_found_by_what_people_read_out(client: Client, parcel: Order) -> None:
    assert found(client, ORDERS, READ_OUT[0]) == {parcel.pk}
    for text in READ_OUT:
        assert find_orders(Order.objects.all(), text).get() == parcel, text
    for text in ("1381234567999", "99999", "SF 99", "Feathers tone"):
        assert not find_orders(Order.objects.all(), text).exists(), text
    payment = Payment.objects.exclude(provider_reference="")[0]
    assert found(client, ORDERS, payment.provider_reference) == {payment.order_id}


def test_mails_are_found_by_the_number_of_their_order(client: Client) -> None:
    order = Order.objects.filter(mails__isnull=False)[0]
    mails = set(Mail.objects.filter(order=order).values_list("pk", flat=True))
    for text in (order.code, order.shown_code, str(order.number)):
        assert found(client, MAILS, text) == mails, text


def test_events_are_found_by_payment_reference_event_and_order(client: Client) -> None:
    payment = Payment.objects.select_related("order")[0]
    texts = [str(payment.pk), payment.pk.hex[:8], payment.provider_reference, payment.order.shown_code]
    answers = [found(client, EVENTS, text) for text in texts]
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)
    assert not found(client, EVENTS, "sim_demo")


def test_the_journal_is_found_by_sku_and_by_order(client: Client) -> None:
    order = Order.objects.filter(code__in=StockChange.objects.values("reference"))[0]
    variant = Variant.objects.filter(stock_changes__isnull=False)[0]
    journal = StockChange.objects.all()
    moved = set(journal.filter(reference=order.code).values_list("pk", flat=True))
    assert moved
    # As the shop shows it, and as people type it.
    for text in (order.code, order.shown_code, order.shown_code.lower(), order.shown_code.replace("-", " ")):
        assert found(client, "/admin/shop/stockchange/", text) == moved, text
    part = variant.sku[1:-1].lower()
    assert found(client, "/admin/shop/stockchange/", part) == set(
        journal.filter(variant__sku__icontains=part).values_list("pk", flat=True)
    )
    assert found(client, "/admin/shop/stockchange/", variant.sku.lower()) == set(
        journal.filter(variant=variant).values_list("pk", flat=True)
    )


WHOLE = [
    (ShippingAddress.objects.filter(name__istartswith="王"), "orders_address_name"),
    (Order.objects.filter(buyer=None, email__iexact="a@example.com"), "orders_order_of_guest"),
    (Payment.objects.filter(provider="simulated", provider_reference="x"), "orders_payment_reference_once"),
]
PARTS = [
    (Order.objects.filter(buyer=None, email__icontains="wen.ch"), "orders_order_guest_parts"),
    (ShippingAddress.objects.filter(name__icontains="feather"), "orders_address_name_parts"),
    (
        ShippingAddress.objects.annotate(digits=digits_of("phone")).filter(digits__contains="38123"),
        "orders_address_phone_parts",
    ),
    (
        Order.objects.exclude(tracking_number="")
        .annotate(letters=letters_and_digits_of("tracking_number"))
        .filter(letters__contains="SF12345"),
        "orders_order_tracking_parts",
    ),
    (RecordedPayment.objects.filter(reference__icontains="2026-99"), "orders_recorded_reference"),
    (Variant.objects.filter(sku__icontains="MANY-99"), "shop_variant_sku_parts"),
    (User.objects.filter(email__icontains="xample.or"), "shop_user_email_parts"),
    (User.objects.filter(username__icontains="feather"), "shop_user_username_parts"),
]


def test_whole_texts_and_parts_of_them_are_found_by_indexes() -> None:
    # Given so many guests that no other index is the shorter way
    now = timezone.now()
    Order.objects.bulk_create(
        Order(
            email=f"{uuid4().hex}@example.com",
            tracking_number=uuid4().hex,
            **{"amount_minor": 1, "currency": "CNY", "status": "paid", "is_invoiced": True},
            **dict.fromkeys(("reserved_at", "expires_at", "ended_at", "settled_at"), now),
        )
        for _ in range(2_000)
    )
    with connection.cursor() as cursor:
        # As autovacuum does it.
        cursor.execute("SELECT gin_clean_pending_list('orders_order_guest_parts')")
        cursor.execute("ANALYZE orders_order")
        # The tables are small, so PostgreSQL would read all of them.
        cursor.execute("SET LOCAL enable_seqscan = off")
        for query, index in WHOLE:
            assert index in query.explain()
        # An index that is read whole, in the order of the list, would be shorter.
        cursor.execute("SET LOCAL enable_indexscan = off")
        for query, index in PARTS:
            assert index in query.order_by().values("pk").explain()


def test_a_long_list_is_counted_up_to_a_bound(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(admin_base, "LISTED_MAX", 8)
    monkeypatch.setattr(admin_base.ModelAdmin, "list_per_page", 5)
    listed = client.get(ORDERS).context["cl"]
    assert listed.result_count == 8
    assert listed.paginator.num_pages == 2
    assert client.get(f"{ORDERS}?p=3").status_code == 302
    with django_assert_max_num_queries(20) as queries:
        client.get(ORDERS)
    counts = [query["sql"] for query in queries.captured_queries if "COUNT(" in query["sql"]]
    assert any("LIMIT 8" in sql for sql in counts)
