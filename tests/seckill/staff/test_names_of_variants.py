"""Two variants of one product have different names wherever staff see them, with the SKU where nothing else differs."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from orders.staff.order_refund import RefundForm
from seckill.models import SaleChange, SaleItem
from seckill.publication import publish_sale
from shop.models import Product, Variant
from tests.steps.buying import plain_order
from tests.steps.operating import run_command
from tests.steps.shop import make_item
from tests.steps.staff import admin_page, control_form, control_page, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

WHITE, BLACK = "Longjing tea · White", "Longjing tea · Black"
Kind = SaleChange.Kind


@pytest.fixture
def items(product: Product) -> list[SaleItem]:
    """A running sale of two variants of one product."""
    white = make_item(product, published=False)
    Variant.objects.update(options_en="White")
    black = Variant.objects.create(product=product, sku="TEA-BLACK", options_en="Black", price_minor=9900, available=9)
    SaleItem.objects.create(sale=white.sale, variant=black, price_minor=1900, quantity=5)
    publish_sale(sale_id=white.sale_id)
    return list(SaleItem.objects.select_related("sale", "variant__product").order_by("pk"))


def test_buttons_figures_and_confirmations_name_the_variant(client: Client, items: list[SaleItem]) -> None:
    white, black = items
    page = client.get(admin_page(white.sale)).content.decode()
    for name in (WHITE, BLACK):
        # Over its buttons, and before its figures.
        assert page.count(name) >= 2, name
    assert BLACK in client.get(reverse("admin:seckill_saleitem_changelist")).content.decode()
    confirmation = client.get(control_page(black, Kind.ADD_UNITS)).content.decode()
    assert BLACK in confirmation
    assert WHITE not in confirmation
    duplicate = client.get(reverse("admin:seckill_sale_duplicate_sale", args=[white.sale_id])).content.decode()
    assert BLACK in duplicate


def test_messages_history_and_journal_name_the_variant(client: Client, items: list[SaleItem]) -> None:
    answer = client.post(control_page(items[0], Kind.ADD_UNITS), control_form(units=2), follow=True)
    assert f"2 units were added to “{WHITE}”." in messages_on(answer)[0]
    assert LogEntry.objects.get().change_message == f"{WHITE}: add 2 units"
    assert f"{WHITE}: add 2 units" in answer.content.decode().partition("Journal of changes")[2]
    history = client.get(reverse("admin:seckill_sale_history", args=[items[0].sale_id])).content.decode()
    assert f"{WHITE}: add 2 units" in history


def test_the_sku_tells_apart_what_is_called_the_same(client: Client, items: list[SaleItem]) -> None:
    Variant.objects.update(options_en="")
    page = client.get(admin_page(items[0].sale)).content.decode()
    for sku in ("SKU-longjing", "TEA-BLACK"):
        assert f"Longjing tea ({sku})" in page
    confirmation = client.get(control_page(items[1], Kind.ADD_UNITS)).content.decode()
    assert "Longjing tea (TEA-BLACK)" in confirmation


def test_the_audit_prints_whole_names(items: list[SaleItem]) -> None:
    output = run_command("sale_audit", str(items[0].pk))
    assert f"item {items[0].pk}: {WHITE} · Spring sale (SKU-longjing)" in output


def test_a_refund_asks_for_the_units_of_each_variant(items: list[SaleItem], buyer: User) -> None:
    order = plain_order(items[0].variant, buyer, 1, 9900, status="paid", ended_at="2026-01-01T00:00Z")
    order.lines.create(variant=items[1].variant, units=1, unit_price_minor=9900)
    labels = [str(field.label) for field in RefundForm(order)]
    assert {f"Units refunded: {WHITE}", f"Units refunded: {BLACK}"} <= set(labels)
