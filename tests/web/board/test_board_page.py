"""The live board of a sale: who sees it, and what it needs PostgreSQL for."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.steps.drawing import make_draw
from tests.steps.shop import make_item, make_product
from tests.steps.staff import employee
from web.board import pages

pytestmark = pytest.mark.django_db(transaction=True)


def page_of(item: SaleItem) -> str:
    return f"/admin/seckill/sale/{item.sale_id}/board/"


def figures_of(client: Client, item: SaleItem, token: str) -> Any:
    return client.get(f"/board/{item.sale_id}/", headers={"Authorization": f"Board {token}"})


def token_in(client: Client, item: SaleItem) -> str:
    found = re.search(r'data-token="([^"]+)"', client.get(page_of(item)).text)
    assert found
    return found[1]


def test_staff_who_may_see_sales_see_the_board_and_change_it_if_they_may(
    client: Client, item: SaleItem, buyer: User, shop_manager: User
) -> None:
    assert client.get(page_of(item)).status_code == 302
    client.force_login(buyer)
    assert client.get(page_of(item)).status_code == 302
    person = employee("view_order", "view_saleitem")
    client.force_login(person)
    assert client.get(page_of(item)).status_code == 403
    for right in ("view_sale", "change_sale"):
        person.user_permissions.set(Permission.objects.filter(codename=right))
        page = client.get(page_of(item))
        assert page.status_code == 200
        assert ("End now" in page.text) == (right == "change_sale")
        assert figures_of(client, item, token_in(client, item)).status_code == 200
    # The session does not open the figures, whoever has it.
    client.force_login(shop_manager)
    assert client.get(f"/board/{item.sale_id}/").status_code == 403
    assert f'href="{page_of(item)}"' in client.get(f"/admin/seckill/sale/{item.sale_id}/change/").text
    # A draft has no board.
    item.sale.published_at = None
    item.sale.save()
    assert client.get(page_of(item)).status_code == 404


def test_it_counts_down_to_the_opening_and_then_to_the_end(as_manager: Client, item: SaleItem) -> None:
    now = timezone.now()
    for opens, closes, paused, text in (
        (60, 3600, False, "Opens in"),
        (-60, 60, False, "Open, closes in"),
        (-60, 60, True, "Paused, closes in"),
        (-2, -1, False, ""),
    ):
        times = {"opens_at": now + timedelta(seconds=opens), "closes_at": now + timedelta(seconds=closes)}
        Sale.objects.filter(pk=item.sale_id).update(**times, paused=paused)
        page = as_manager.get(page_of(item)).text
        assert text in page
        moment_ms = int((now + timedelta(seconds=60)).timestamp() * 1000)
        assert (f'data-countdown="{moment_ms}"' in page) == ("data-countdown" in page) == bool(text)


def test_a_token_is_for_one_sale_and_an_hour(
    as_manager: Client, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = token_in(as_manager, item)
    other = make_item(make_product(slug="cup", name="Cup", price_minor=9900))
    assert figures_of(as_manager, other, token).status_code == 403
    assert figures_of(as_manager, item, token[:-1]).status_code == 403
    monkeypatch.setattr(pages, "TOKEN_SECONDS", -1)
    assert figures_of(as_manager, item, token).status_code == 403


def test_the_caller_costs_no_sql(
    as_manager: Client, item: SaleItem, django_assert_num_queries: DjangoAssertNumQueries, settings: Settings
) -> None:
    """The orders are asked for in a thread of their own."""
    token = token_in(as_manager, item)
    settings.STAFF_SECOND_FACTOR = True
    with django_assert_num_queries(0):
        assert figures_of(as_manager, item, token).status_code == 200


def test_a_draw_has_its_stages_and_figures_instead_of_those_of_calls(as_manager: Client, product: Product) -> None:
    page = as_manager.get(page_of(make_draw(product))).text
    assert [stage in page for stage in ("Takes entries", "Entries closed", "Drawn")] == [True] * 3
    assert [f'data-more="draw_{name}"' in page for name in ("entries", "won", "paid", "asked", "passed_on")] == [
        True
    ] * 5
    assert "<svg viewBox" not in page
    assert "Asked a second" not in page
    assert "answers-heading" not in page


def test_a_waiting_room_has_the_figures_of_its_line_and_a_waiting_list_those_in_it(
    as_manager: Client, product: Product, item: SaleItem
) -> None:
    room = make_item(product, opens_in_seconds=99_000, closes_in_seconds=99_900, has_room=True, waiting_list=True)
    page = as_manager.get(page_of(room)).text
    assert [f'data-more="room_{name}"' in page for name in ("waiting", "called", "inside", "state")] == [True] * 4
    assert 'data-sold_out="over: sold out"' in page
    assert 'data-sum="in_line"' in page
    page = as_manager.get(page_of(item)).text
    assert "data-more=" not in page
    assert 'data-sum="in_line"' not in page
