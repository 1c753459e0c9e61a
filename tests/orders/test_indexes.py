"""Orders and lines have no index that another one makes unnecessary, and every list still finds one."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from orders.models import Document, Order, OrderLine, OrderStatus, PaymentEvent
from shop.models import Product
from tests.steps.shop import variant_of

pytestmark = pytest.mark.django_db

# A day of the last two weeks.
A_DAY = timezone.now() - timedelta(days=7)
# Whole indexes: their columns in order, and whether they also keep something unique.
INDEXES = """
    SELECT index.indexrelid::regclass::text, index.indkey::int2[], index.indisunique
    FROM pg_index AS index
    WHERE index.indrelid = %s::regclass AND index.indpred IS NULL
"""


@pytest.mark.parametrize("table", ["orders_order", "orders_orderline"])
def test_no_index_is_the_beginning_of_another(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, [table])
        found = cursor.fetchall()
    assert len(found) > 2
    for name, columns, is_unique in found:
        longer = [other for other, others, _unique in found if other != name and others[: len(columns)] == columns]
        assert is_unique or not longer, f"{name} is the beginning of {longer}"


LISTS = [
    (Order.objects.filter(buyer_id=1), "orders_order_of_buyer"),
    (Order.objects.filter(buyer_id=1).order_by("-created_at", "-id")[:20], "orders_order_of_buyer"),
    (Order.objects.filter(buyer_id__in=[1, 2]), "orders_order_of_buyer"),
    # The first page of the admin's list.
    (Order.objects.order_by("-created_at", "-pk")[:100], "orders_order_newest"),
    # The sum of a day on the first page of the admin.
    (Order.objects.filter(created_at__gte=A_DAY, created_at__lt=A_DAY + timedelta(days=1)), "orders_order_newest"),
    (PaymentEvent.objects.filter(payment_id=UUID(int=1)).order_by(), "orders_paymentevent_payment"),
    (OrderLine.objects.filter(order_id=1), "orders_orderline_variant_once"),
    (OrderLine.objects.filter(order_id__in=[1, 2]), "orders_orderline_variant_once"),
    (Order.objects.filter(pk=1).values("lines__units"), "orders_orderline_variant_once"),
    # The export of a month.
    (
        Document.objects.filter(issued_at__gte=A_DAY, issued_at__lt=A_DAY + timedelta(days=1)).order_by(),
        "orders_document_issued",
    ),
]


def test_each_list_of_orders_or_lines_uses_an_index(product: Product) -> None:
    now = timezone.now()
    people = User.objects.bulk_create(User(username=f"buyer-{number}") for number in range(500))
    state = {"status": OrderStatus.PAID, "reserved_at": now, "expires_at": now, "ended_at": now, "settled_at": now}
    orders = Order.objects.bulk_create(
        Order(buyer=person, amount_minor=9900, currency="CNY", **state) for person in people
    )
    variant = variant_of(product)
    OrderLine.objects.bulk_create(
        OrderLine(order=order, variant=variant, units=1, unit_price_minor=9900) for order in orders
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orders_order, orders_orderline")
        # So few rows would be read all.
        cursor.execute("SET LOCAL enable_seqscan = off")
    for query, index in LISTS:
        assert index in query.explain(), query.query
