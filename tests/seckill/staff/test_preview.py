"""Staff see a draft sale as buyers will, in each language. Nobody else does, and nothing can be bought on it."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.staff import admin_page, confirm_and_publish, employee
from web.addresses import PUBLIC_PAGE

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(product: Product) -> SaleItem:
    return make_item(product, published=False, opens_in_seconds=900, quantity=7)


def preview(draft: SaleItem, language: str = "en") -> str:
    return f"/admin/seckill/sale/{draft.sale_id}/preview/{language}/"


def test_the_draft_is_shown_in_each_language_and_nothing_can_be_bought_on_it(client: Client, draft: SaleItem) -> None:
    client.force_login(employee("view_sale"))
    answer = client.get(preview(draft))
    page = answer.content.decode()
    for words in ("Spring sale", "7 of 7 left", "Only staff see this page."):
        assert words in page
    for words in ('class="buy', "seckill/sale.js", f"/sale-items/{draft.pk}/reserve"):
        assert words not in page
    assert client.get(f"/sale-items/{draft.pk}/").status_code == 404
    # No cache keeps it.
    assert {"private", "no-store"} <= set(answer["Cache-Control"].split(", "))
    assert PUBLIC_PAGE.fullmatch(preview(draft)) is None
    chinese = client.get(preview(draft, "zh-hans")).content.decode()
    assert "春季秒杀" in chinese
    assert '<html lang="zh-hans">' in chinese
    assert "Only staff see this page." not in chinese
    assert client.get(preview(draft, "xx")).status_code == 404
    draft.delete()
    assert client.get(preview(draft)).status_code == 200


def test_its_button_says_what_the_sale_will_say(client: Client, draft: SaleItem) -> None:
    client.force_login(employee("view_sale"))
    for admission, words in (
        (Sale.Admission.FIRST_COME, "Reserve at the start"),
        (Sale.Admission.WAITING_ROOM, "Not your turn yet"),
        (Sale.Admission.DRAW, "Enter the draw"),
    ):
        Sale.objects.update(admission=admission)
        page = client.get(preview(draft)).content.decode()
        (button,) = re.findall(r"<button[^>]* disabled>(.*?)</button>", page, re.DOTALL)
        assert button.strip() == words
        # And no link leads to a page that is there only once the sale is published.
        assert not re.findall(rf'href="/(?:sales|reminders)/[^"]*{draft.sale_id}[^"]*"', page), admission


def test_the_public_and_other_staff_never_see_it(client: Client, draft: SaleItem, buyer: User) -> None:
    assert client.get(preview(draft)).status_code == 302
    client.force_login(buyer)
    assert client.get(preview(draft)).status_code == 302
    client.force_login(employee("view_order", "change_product"))
    assert client.get(preview(draft)).status_code == 403
    assert client.get(f"/sales/{draft.sale_id}/").status_code == 404


@pytest.mark.usefixtures("_manager_signed_in")
def test_the_draft_leads_to_it_and_a_published_sale_does_not(client: Client, draft: SaleItem) -> None:
    assert preview(draft, "zh-hans") in client.get(admin_page(draft.sale)).content.decode()
    confirm_and_publish(client, draft.sale)
    assert "/preview/" not in client.get(admin_page(draft.sale)).content.decode()
    assert client.get(preview(draft))["Location"] == admin_page(draft.sale)
