"""Staff count and change the stock while people buy; every unit is in the journal."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import ProtectedError
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from orders import tasks
from shop.models import Product, StockChange, TakenStep, Variant
from shop.stock.low_stock import badge
from shop.stock.movements import UNITS_MAX, move
from tests.steps.product_page import saved_page
from tests.steps.shop import make_product, units_in, variant_of
from tests.steps.staff import admin_page, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

Kind = StockChange.Kind
STOCK = "/admin/shop/variant/"
JOURNAL = "/admin/shop/stockchange/"


@pytest.fixture
def variant(db: None) -> Variant:
    """Ten units, two of which a checkout holds."""
    variant = variant_of(make_product(slug="mug", name="Mug", price_minor=4900, units=10))
    move(kind=Kind.HELD, units_of={variant.pk: 2}, reference="ABCD2345")
    variant.refresh_from_db()
    return variant


def step(how: str, units: int | str, *, seen: int = 10, reason: str = "delivery 4711") -> dict[str, Any]:
    """What the browser posts; `seen` are the units that the page showed."""
    return {"how": how, "units": units, "reason": reason, "seen": seen, "low_stock_at": ""}


def error_of(response: Any, field: str = "units") -> str:
    (error,) = response.context["adminform"].form.errors[field]
    return str(error)


def test_a_change_is_added_to_what_is_there_now_and_a_count_includes_what_checkouts_hold(
    client: Client, variant: Variant
) -> None:
    move(kind=Kind.HELD, units_of={variant.pk: 3})
    assert client.post(admin_page(variant), step("change", 20)).status_code == 302
    assert units_in(variant)[:2] == (25, 5)
    assert client.post(admin_page(variant), step("count", 12, seen=30)).status_code == 302
    assert units_in(variant)[:2] == (7, 5)


def test_what_was_sent_is_known_for_a_month(client: Client, variant: Variant) -> None:
    tokens = [uuid4() for _ in range(2)]
    for token in tokens:
        assert client.post(admin_page(variant), step("change", 1) | {"token": token}).status_code == 302
    for token, days in zip(tokens, (31, 29), strict=True):
        TakenStep.objects.filter(token=token).update(taken_at=timezone.now() - timedelta(days=days))
    assert tasks.clear_old_rows() == 1
    assert TakenStep.objects.get().token == tokens[1]


def test_a_count_against_a_stock_that_has_changed_is_refused_and_can_be_saved_once_more(
    client: Client, variant: Variant
) -> None:
    move(kind=Kind.SOLD, units_of={variant.pk: 2})
    response = client.post(admin_page(variant), step("count", 12))
    sentence = "The stock has changed from 10 to 8 in the meantime. Check your count and save again, or change the"
    assert error_of(response).startswith(sentence)
    variant.refresh_from_db()
    assert variant.available == 8
    shown_again = response.context["adminform"].form["seen"].value()
    assert client.post(admin_page(variant), step("count", 12, seen=shown_again)).status_code == 302
    variant.refresh_from_db()
    assert variant.available == 12


@pytest.mark.parametrize(("how", "units", "available"), [("change", -5, 3), ("count", 12, 10)])
def test_a_form_that_is_sent_twice_changes_the_stock_once_and_says_so(
    client: Client, variant: Variant, how: str, units: int, available: int
) -> None:
    # Given a variant with a history, so that a page that is saved late is noticed
    variant.save()
    page = client.get(admin_page(variant)).context
    sent = step(how, units) | {"token": page["adminform"].form["token"].value(), "seen_history": page["seen_history"]}
    sent["low_stock_at"] = 3
    answers = [messages_on(client.post(admin_page(variant), sent)) for _ in range(2)]
    again = f"This form was sent before, so the stock was not changed now. “Mug” has {available} available units."
    assert answers == [[f"Saved. “Mug” has {available} available units now."], [again]]
    assert units_in(variant)[:2] == (available, 2)
    # The page that is shown now is another form.
    assert client.get(admin_page(variant)).context["adminform"].form["token"].value() != sent["token"]


def test_no_more_units_go_than_are_available_and_a_change_needs_a_reason(client: Client, variant: Variant) -> None:
    page = admin_page(variant)
    assert error_of(client.post(page, step("count", 1))) == "Checkouts hold 2 units, so the stock cannot be lower."
    assert error_of(client.post(page, step("change", -9))) == "Only 8 units are available; checkouts hold 2 more."
    assert error_of(client.post(page, step("change", 1, reason="")), "reason") == "Say why the stock changes."
    assert client.post(page, step("change", -8)).status_code == 302


def test_a_full_stock_has_room_for_the_units_that_checkouts_hold(client: Client, variant: Variant) -> None:
    assert client.post(admin_page(variant), step("count", UNITS_MAX)).status_code == 302
    assert units_in(variant)[:2] == (UNITS_MAX - 2, 2)
    one_more = client.post(admin_page(variant), step("change", 1))
    assert error_of(one_more) == "A stock has at most 100000000 units, with those that checkouts hold."
    move(kind=Kind.RELEASED, units_of={variant.pk: 2})
    assert units_in(variant)[:2] == (UNITS_MAX, 0)
    # A stock that is larger than allowed can be made smaller.
    Variant.objects.update(available=2 * UNITS_MAX)
    assert client.post(admin_page(variant), step("change", -1)).status_code == 302
    assert units_in(variant)[:2] == (2 * UNITS_MAX - 1, 0)


def test_the_journal_says_who_changed_what_and_why(client: Client, variant: Variant, shop_manager: User) -> None:
    sent = step("change", -3, reason="broken") | {"_continue": "1"}
    response = client.post(admin_page(variant), sent, follow=True)
    assert messages_on(response) == ["Saved. “Mug” has 5 available units now."]
    assert "broken" in response.content.decode()
    entry = StockChange.objects.order_by("-pk")[0]
    assert (entry.kind, entry.units, entry.available_before, entry.available_after) == ("changed", -3, 8, 5)
    assert (entry.reason, entry.made_by) == ("broken", shop_manager)


def test_the_limit_is_set_without_touching_the_stock(client: Client, variant: Variant) -> None:
    client.post(admin_page(variant), step("change", "") | {"low_stock_at": 9})
    variant.refresh_from_db()
    assert (variant.low_stock_at, variant.available, StockChange.objects.count()) == (9, 8, 2)


def test_the_journal_is_searched_by_sku_and_by_order_and_filtered_from_a_day_to_a_day(
    client: Client, variant: Variant
) -> None:
    make_product(slug="cup", name="Cup", price_minor=100, units=1)
    today = timezone.localdate()
    for found, query in (
        (2, "q=SKU-mug"),
        (1, "q=ABCD2345"),
        (1, "q=abcd2345"),
        (3, f"made_at_from_0={today}&made_at_to_0={today}"),
        (0, f"made_at_to_0={today - timedelta(days=1)}"),
        (0, "made_at_from_0=June"),
    ):
        assert client.get(f"{JOURNAL}?{query}").context["cl"].result_count == found, query


def test_the_journal_names_orders_and_sales_as_other_pages_do_and_finds_them_so(
    client: Client, variant: Variant
) -> None:
    move(kind=Kind.TO_SALE, units_of={variant.pk: 3}, reference="sale 42")
    shown = {"en": ("ABCD-2345", "sale 42"), "zh-hans": ("ABCD-2345", "秒杀 42")}
    for language, names in shown.items():
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        for name in names:
            assert name in client.get(admin_page(variant)).content.decode()
            found = client.get(JOURNAL, {"q": name})
            assert found.context["cl"].queryset.count() == 1, name
            assert name in found.content.decode()


class TestLowStock:
    def test_a_variant_without_a_limit_of_its_own_has_that_of_the_shop(
        self, variant: Variant, settings: Settings
    ) -> None:
        settings.LOW_STOCK_AT = 7
        assert badge() == ""
        settings.LOW_STOCK_AT = 8
        assert badge() == "1"
        Variant.objects.update(low_stock_at=3)
        assert badge() == ""
        Variant.objects.update(low_stock_at=9)
        assert badge() == "1"
        # A product that is not for sale is not counted as low.
        Product.objects.update(is_active=False)
        assert badge() == ""

    def test_a_page_of_the_admin_counts_them_once_and_the_next_one_anew(
        self, client: Client, variant: Variant, settings: Settings
    ) -> None:
        for limit, badges in ((8, 2), (7, 0)):
            settings.LOW_STOCK_AT = limit
            with CaptureQueriesContext(connection) as asked:
                text = client.get("/admin/").text
            # In the sidebar and on the start page.
            assert len(re.findall(r'uppercase min-w-\[18px\][^"]*">\s*1\s*</span>', text)) == badges
            assert sum("low_stock_at" in query["sql"] and "COUNT" in query["sql"] for query in asked) == 1
        settings.LOW_STOCK_AT = 8
        make_product(slug="plenty", name="Plenty", price_minor=100, units=100)
        assert [row.sku for row in client.get(STOCK, {"stock": "low"}).context["cl"].queryset] == ["SKU-mug"]


def test_a_product_with_a_journal_is_not_deleted(client: Client, variant: Variant) -> None:
    """Not by its page, the list, the row of its variant, or code that does not ask."""
    move(kind=Kind.RELEASED, units_of={variant.pk: 2})
    product, entries = variant.product, StockChange.objects.count()
    sentence = "“Mug” has a journal of its stock, so it cannot be deleted. Hide it from the shop instead."
    page = f"/admin/shop/product/{product.pk}/delete/"
    assert sentence in messages_on(client.post(page, {"post": "yes"}))
    chosen = {"action": "delete_selected", "_selected_action": product.pk, "post": "yes"}
    assert sentence in messages_on(client.post("/admin/shop/product/", chosen))
    row = client.post(admin_page(product), saved_page(product, DELETE="on", price_minor="49.00")).content.decode()
    assert "SKU-mug, “Mug”, has a journal of its stock" in row
    with pytest.raises(ProtectedError):
        product.delete()
    assert StockChange.objects.count() == entries
    # One that never had units is deleted.
    cup = make_product(slug="cup", name="Cup", price_minor=4900, units=0)
    client.post(f"/admin/shop/product/{cup.pk}/delete/", {"post": "yes"})
    assert not Product.objects.filter(slug="cup").exists()
