"""Staff publish a sale: its terms go to the store once, and only if somebody with the permission confirms."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags
from pytest_django import Settings

from orders import tasks
from orders.models import Order
from seckill import ledger
from seckill.ledger_words import Published
from seckill.models import LatePayment, Sale, SaleItem
from seckill.store.client import StoreUnreachable
from seckill.store.keys import keys_of
from shop.models import Product, StockChange
from shop.times.zone import words_for
from tests.steps.buying import reserve
from tests.steps.shop import make_item, make_product, text_of
from tests.steps.staff import (
    admin_page,
    confirm_and_publish,
    employee,
    filled_form,
    form_of,
    messages_on,
    publish_page,
    row_of,
    row_of_saved,
    was_checked,
)
from tests.steps.store import counters_of, store_away

BUTTON = "Save and publish …"
NEW = "/admin/seckill/sale/add/"


@pytest.fixture
def draft(product: Product) -> SaleItem:
    return make_item(product, published=False)


def test_publishing_asks_first(as_manager: Client, product: Product) -> None:
    draft = make_item(product, opens_in_seconds=3600, closes_in_seconds=7200, published=False, price_minor=4950)
    was_checked(draft.sale)
    answer = as_manager.get(publish_page(draft.sale))
    question = " ".join(strip_tags(text_of(as_manager, publish_page(draft.sale))).split())
    assert "Longjing tea 99.00 CNY 49.50 CNY −50% 5 1 1000000 → 999995" in question
    assert answer.content.decode().count("product-picture") == 1
    assert f"Opens at {words_for(draft.sale.opens_at)} in 59 minutes" in question.replace("\xa0", " ")
    assert answer.context["risks"] == []
    draft.sale.refresh_from_db()
    assert not draft.sale.is_published
    assert ledger.read(item_id=draft.pk) is None
    as_manager.post(publish_page(draft.sale))
    draft.sale.refresh_from_db()
    assert draft.sale.is_published


def test_terms_that_look_like_a_slip_are_confirmed_point_by_point(as_manager: Client, product: Product) -> None:
    draft = make_item(product, quantity=None, per_buyer_max=9999, price_minor=1, published=False)
    was_checked(draft.sale)
    answer = as_manager.get(publish_page(draft.sale))
    past, *others = [risk.text for risk in answer.context["risks"]]
    assert past == f"The opening has passed: {words_for(draft.sale.opens_at)}. The sale opens at once."
    assert others == [
        "“Longjing tea” costs 0.01 CNY instead of 99.00 CNY: 99 % off.",
        "“Longjing tea” is sold without end, at 0.01 CNY: its quantity is unlimited.",
        "Each buyer may take 9999 units of “Longjing tea”.",
    ]
    keys = [risk.key for risk in answer.context["risks"]]
    for missing in keys:
        refused = as_manager.post(publish_page(draft.sale), {"confirmed": [key for key in keys if key != missing]})
        assert "Nothing was published: a point is not checked." in refused.content.decode()
        assert not Sale.objects.get().is_published
    # Confirmed for another price.
    SaleItem.objects.update(price_minor=2)
    as_manager.post(publish_page(draft.sale), {"confirmed": keys})
    assert not Sale.objects.get().is_published
    confirm_and_publish(as_manager, draft.sale)
    assert Sale.objects.get().is_published


def test_terms_that_a_colleague_has_changed_since_the_page_was_shown_are_not_published(
    as_manager: Client, draft: SaleItem
) -> None:
    page = as_manager.get(publish_page(draft.sale)).context
    sent = {"confirmed": [risk.key for risk in page["risks"]], "terms": page["terms"]}
    SaleItem.objects.update(price_minor=5000)
    was_checked(draft.sale)
    answer = as_manager.post(publish_page(draft.sale), sent, follow=True)
    assert "“Spring sale” was not published. The draft was changed since." in messages_on(answer)[0]
    assert not Sale.objects.get().is_published


def test_up_to_80_per_cent_off_is_usual(as_manager: Client, product: Product) -> None:
    draft = make_item(product, opens_in_seconds=60, price_minor=1980, published=False)
    for price_minor, asks in ((1980, False), (1979, True)):
        SaleItem.objects.update(price_minor=price_minor)
        was_checked(draft.sale)
        assert bool(as_manager.get(publish_page(draft.sale)).context["risks"]) == asks, price_minor


def test_more_units_than_the_stock_cannot_be_published(as_manager: Client, product: Product) -> None:
    draft = make_item(product, quantity=1_000_001, published=False)
    page = text_of(as_manager, publish_page(draft.sale))
    assert "The sale has 1000001 units of “Longjing tea”, but only 1000000 are in stock." in page
    confirm_and_publish(as_manager, draft.sale)
    assert not Sale.objects.get().is_published


def test_publishing_saves_what_was_typed_before(as_manager: Client, draft: SaleItem) -> None:
    form = form_of(draft.sale, row_of_saved(draft, price_minor="55.00", quantity=7))
    page = admin_page(draft.sale)
    answer = as_manager.post(page, form | {"seckill_sale_save_and_publish": ""})
    assert answer["Location"] == publish_page(draft.sale)
    draft.refresh_from_db()
    assert (draft.price_minor, draft.quantity) == (5500, 7)
    wrong = form_of(draft.sale, row_of_saved(draft, price_minor="999.00"))
    assert as_manager.post(page, wrong | {"seckill_sale_save_and_publish": ""}).status_code == 200


def test_a_new_draft_leads_to_its_page_which_says_the_next_step(as_manager: Client, product: Product) -> None:
    for rows, left_to_do in (
        ([], "Enter below what it sells, then press “Save and publish …”."),
        ([row_of(product)], "buyers do not see it yet. Check it, then publish it with “Save and publish …” below."),
    ):
        answer = as_manager.post(NEW, filled_form(*rows) | {"_save": ""}, follow=True)
        assert answer.redirect_chain == [(admin_page(Sale.objects.latest("pk")), 302)]
        (message,) = messages_on(answer)
        assert message.endswith(left_to_do)
        assert BUTTON in answer.text
    # The other buttons lead where they say.
    assert as_manager.post(NEW, filled_form() | {"_addanother": ""})["Location"] == NEW
    Sale.objects.all().delete()
    answer = as_manager.post(NEW, filled_form(row_of(product)) | {"seckill_sale_save_and_publish": ""})
    assert answer["Location"] == publish_page(Sale.objects.get())


def test_a_new_sale_of_staff_who_may_only_add_leads_where_they_may_go(client: Client, product: Product) -> None:
    client.force_login(employee("add_sale", "add_saleitem", "view_product", "view_variant"))
    assert BUTTON not in text_of(client, NEW)
    answer = client.post(NEW, filled_form(row_of(product)) | {"_save": "", "seckill_sale_save_and_publish": ""})
    assert answer["Location"] == "/admin/"


def test_a_published_sale_has_its_terms_in_the_store(as_manager: Client, draft: SaleItem, shop_manager: User) -> None:
    assert BUTTON in text_of(as_manager, admin_page(draft.sale))
    assert messages_on(confirm_and_publish(as_manager, draft.sale)) == ["“Spring sale” is published."]
    assert (counters_of(draft).quantity, counters_of(draft).left) == (5, 5)
    # The journal of the stock says who took the units.
    assert StockChange.objects.get(kind=StockChange.Kind.TO_SALE).made_by == shop_manager
    assert BUTTON not in text_of(as_manager, admin_page(draft.sale))


def test_a_second_publish_changes_nothing_and_says_so(as_manager: Client, item: SaleItem, store: Any) -> None:
    terms = store.hgetall(keys_of(item.pk).item)
    response = as_manager.post(publish_page(item.sale), follow=True)
    assert messages_on(response) == ["“Spring sale” is already published. Nothing was changed."]
    assert store.hgetall(keys_of(item.pk).item) == terms
    assert Sale.objects.get().published_at == item.sale.published_at
    # Nor does the page of it, where the store has lost the sale.
    store.flushdb()
    SaleItem.objects.update(announced_at=None)
    response = as_manager.get(publish_page(item.sale), follow=True)
    assert messages_on(response) == ["“Spring sale” is already published. Nothing was changed."]
    assert store.dbsize() == 0


def test_a_sale_that_may_not_be_published_says_why(as_manager: Client, product: Product) -> None:
    over = make_item(product, opens_in_seconds=-120, closes_in_seconds=-60, published=False)
    response = confirm_and_publish(as_manager, over.sale)
    assert messages_on(response) == [
        "“Spring sale” was not published. The closing time of this sale has passed. Change it before you publish."
    ]
    assert not Sale.objects.get().is_published


def test_with_the_store_down_the_sale_is_published_and_opens_later(
    as_manager: Client, draft: SaleItem, settings: Settings
) -> None:
    store_away(settings)
    response = confirm_and_publish(as_manager, draft.sale)
    assert messages_on(response) == [
        "“Spring sale” is published. It can open as soon as the reservation store is available again."
    ]
    assert Sale.objects.get().is_published


def test_a_viewer_sees_prices_and_no_way_to_publish(client: Client, draft: SaleItem) -> None:
    client.force_login(employee("view_sale", "view_product"))
    page = text_of(client, admin_page(draft.sale))
    assert "19.00 CNY" in page
    assert BUTTON not in page
    assert client.get(publish_page(draft.sale)).status_code == 403
    assert client.post(publish_page(draft.sale)).status_code == 403
    assert not Sale.objects.get().is_published


def test_a_buyer_and_a_form_of_another_page_publish_nothing(
    as_buyer: Client, shop_manager: User, draft: SaleItem
) -> None:
    assert as_buyer.post(publish_page(draft.sale)).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(shop_manager)
    assert strict.post(publish_page(draft.sale)).status_code == 403
    assert not Sale.objects.get().is_published


def test_a_form_opened_before_the_publication_leaves_the_terms_and_says_so(as_manager: Client, item: SaleItem) -> None:
    row = {"id": item.pk, "sale": item.sale_id, "variant": item.variant_id, "price_minor": "1", "per_buyer_max": 3}
    form = form_of(item.sale, row, name="Summer sale", hold_seconds=60, late_payment="refund")
    response = as_manager.post(admin_page(item.sale), form, follow=True)
    sentence = "This sale was published while you were editing it."
    stays = "Its items, times, seconds to pay and admission stay as they were published; the rest was saved."
    assert f"{sentence} {stays}" in messages_on(response)
    sale = Sale.objects.get()
    assert (sale.name, sale.late_payment, sale.hold_seconds) == ("Summer sale", LatePayment.REFUND, 900)
    stored = SaleItem.objects.get()
    assert (stored.price_minor, stored.quantity, stored.per_buyer_max) == (1900, 5, 1)


def test_an_item_that_cannot_be_announced_stops_neither_other_sales_nor_the_drains(
    draft: SaleItem, product: Product, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = ledger.publish

    def publish_others(*, item_id: int, **more: Any) -> Published:
        if item_id == draft.pk:
            raise StoreUnreachable("a script error")
        return publish(item_id=item_id, **more)

    monkeypatch.setattr(ledger, "publish", publish_others)
    other = make_product(name="Biluochun tea", slug="biluochun", price_minor=9900, category=product.category)
    waiting = make_item(other, published=False)
    third = make_product(name="Maofeng tea", slug="maofeng", price_minor=9900, category=product.category)
    on_sale = make_item(third)
    reservation_id = reserve(on_sale, buyer)
    Sale.objects.filter(published_at=None).update(published_at=timezone.now())
    assert tasks.sweep_outboxes() == 1
    assert Order.objects.get().reservation_id == reservation_id
    waiting.refresh_from_db()
    assert waiting.announced_at is not None
    draft.refresh_from_db()
    assert draft.announced_at is None
    monkeypatch.undo()
    tasks.sweep_outboxes()
    draft.refresh_from_db()
    assert draft.announced_at is not None
