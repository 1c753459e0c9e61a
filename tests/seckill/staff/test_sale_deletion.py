"""A draft can be deleted; a published sale stays, with a sentence that says why."""

import pytest
from django.test import Client
from django.urls import reverse

from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.staff import change, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

SALES = "/admin/seckill/sale/"
WHY = (
    "“Spring sale” is published and buyers may hold units of it, so it cannot be deleted. "
    "Use “End now” on its page instead: buyers can still pay for the units they hold."
)


def test_drafts_are_deleted_with_their_items_one_by_one_or_after_a_question(client: Client, product: Product) -> None:
    draft, other = make_item(product, published=False), make_item(product, published=False)
    client.post(f"{SALES}{draft.sale_id}/delete/", {"post": "yes"})
    assert Sale.objects.get() == other.sale
    chosen = {"action": "delete_selected", "_selected_action": other.sale_id}
    assert "Are you sure" in client.post(SALES, chosen).content.decode()
    client.post(SALES, chosen | {"post": "yes"})
    assert not Sale.objects.exists()
    assert not SaleItem.objects.exists()


def test_a_published_sale_stays_also_among_drafts_and_after_its_end(
    client: Client, item: SaleItem, product: Product
) -> None:
    page = f"{SALES}{item.sale_id}/delete/"
    for call in (client.get, client.post):
        assert messages_on(call(page, {"post": "yes"})) == [WHY]
    draft = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, published=False)
    chosen = {"action": "delete_selected", "_selected_action": [item.sale_id, draft.sale_id], "post": "yes"}
    assert messages_on(client.post(SALES, chosen)) == [WHY]
    change(item, SaleChange.Kind.END_NOW)
    assert messages_on(client.post(page, {"post": "yes"})) == [
        "“Spring sale” is over. It cannot be deleted: its orders and its journal are kept."
    ]
    assert Sale.objects.count() == 2


def test_only_the_page_of_a_draft_offers_to_delete(client: Client, item: SaleItem, product: Product) -> None:
    draft = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, published=False)
    for sale_id, offered in ((draft.sale_id, True), (item.sale_id, False)):
        page = client.get(reverse("admin:seckill_sale_change", args=[sale_id])).content.decode()
        assert (f"{SALES}{sale_id}/delete/" in page) is offered


def test_deleting_a_sale_that_is_gone_is_no_crash(client: Client, db: None) -> None:
    assert client.post(f"{SALES}4711/delete/", {"post": "yes"}).status_code == 302
    assert client.post(f"{SALES}x/delete/", {"post": "yes"}).status_code == 302
