"""Winners to whom no units can be given: the sale ends before, or asks for less than they do. They are told so."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail as django_mail
from django.test import Client
from django.utils import timezone

from orders.mails import line_mails
from orders.models import LineMail, Mail, Order
from orders.tasks import carry_out_draws
from seckill.models import Sale, SaleChange, SaleItem
from seckill.store.keys import keys_of
from shop.languages.buyer_language import store_language
from shop.times.timestamps import now_ms
from tests.steps.buying import signed_in, with_address
from tests.steps.crash import killed_at
from tests.steps.drawing import (
    drawn,
    drawn_in_this_order,
    entered,
    in_order,
    make_draw,
    opening_passes,
    statuses,
    swept,
)
from tests.steps.shop import make_product, text_of
from tests.steps.staff import change
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db

Kind = SaleChange.Kind
TWO_HOURS = timedelta(hours=2)


def end_passes(item: SaleItem, store: Any, *, ago: timedelta = timedelta(seconds=1)) -> None:
    """The end was so long ago, for PostgreSQL and for the store."""
    now = timezone.now()
    Sale.objects.update(opens_at=now - ago - timedelta(hours=1), closes_at=now - ago)
    store.hset(keys_of(item.pk).item, "closes_ms", now_ms() - ago // timedelta(milliseconds=1))


def own_page(item: SaleItem, buyer: User, *, language: str = "") -> str:
    client = Client()
    client.force_login(buyer)
    return text_of(client, f"{language}/sales/{item.sale_id}/enter/")


def status_by_api(item: SaleItem, buyer: User) -> tuple[str, str | None]:
    body = signed_in(buyer).get(f"/api/v1/sale-items/{item.pk}/entries/").json()
    return body["status"], body["status_url"]


@pytest.mark.parametrize(("pause", "by_hand"), [(Kind.PAUSE, True), (Kind.PAUSE_ITEM, False)])
def test_a_paused_sale_that_ends_tells_its_winners_that_it_is_over(
    item: SaleItem, store: Any, pause: SaleChange.Kind, by_hand: bool
) -> None:
    buyers = entered(item, 3)
    with_address(*buyers)
    change(item, pause)
    drawn(item)
    assert statuses(item) == ["won"] * 3
    english, chinese = (entry.buyer for entry in in_order(item)[:2])
    store_language(user_id=chinese.pk, language="zh-hans")
    if by_hand:
        change(item, Kind.END_NOW)
    else:
        end_passes(item, store)
    swept(item)
    assert statuses(item) == ["not_won"] * 3
    assert status_by_api(item, english) == ("not_won", None)
    page = own_page(item, english)
    assert "You got no units" in page
    assert "the sale ended before units were held for it" in page
    assert text_of(Client(), f"/sales/{item.sale_id}/draw/").count("won in the draw, got no units") == 3
    assert text_of(Client(), f"/zh-hans/sales/{item.sale_id}/draw/").count("抽签中签，未获得商品") == 3
    assert not Mail.objects.exists()
    line_mails.send_due(seconds_max=10)
    text_for = {message.to[0]: str(message.body) for message in django_mail.outbox}
    assert text_for.keys() == {f"{buyer.username}@example.com" for buyer in buyers}
    in_english = text_for[f"{english.username}@example.com"]
    assert "the sale ended before units were held for it" in in_english
    assert "go to the next in the drawn order" not in in_english
    assert "秒杀在为您锁定商品之前已结束" in text_for[f"{chinese.username}@example.com"]


def test_a_store_that_is_away_until_long_after_the_end_decides_then(item: SaleItem, store: Any) -> None:
    buyers = entered(item, 4)
    change(item, Kind.PAUSE)
    drawn(item)
    end_passes(item, store, ago=TWO_HOURS)
    winner = in_order(item)[0].buyer
    assert "We are checking whether units were reserved for you" in own_page(item, winner)
    assert status_by_api(item, winner) == ("won", None)
    swept(item)
    assert statuses(item) == ["not_won"] * len(buyers)


def test_units_that_the_store_held_before_the_end_are_not_taken_from_their_winner(item: SaleItem, store: Any) -> None:
    entered(item, 4)
    opening_passes(item)
    carry_out_draws()
    with killed_at("draw.after_reserve"):
        carry_out_draws()
    assert left_held_sold(item) == (0, 3, 0)
    change(item, Kind.PAUSE)
    end_passes(item, store, ago=TWO_HOURS)
    # The orders are not written yet.
    carry_out_draws()
    assert [entry.reserved_at is not None for entry in in_order(item)] == [True] * 3 + [False]
    swept(item)
    assert statuses(item) == ["won"] * 3 + ["not_won"]
    assert Order.objects.count() == 3


@pytest.mark.parametrize("gone", [{"announced_at": None}, {"archived_at": timezone.now()}])
def test_winners_of_an_item_that_the_store_does_not_have_are_told_that_the_sale_is_over(
    item: SaleItem, store: Any, gone: dict[str, Any]
) -> None:
    entered(item, 4)
    change(item, Kind.PAUSE)
    SaleItem.objects.update(announced_at=None)
    drawn(item)
    assert statuses(item) == ["won"] * 3 + ["not_won"]
    SaleItem.objects.update(**{"announced_at": timezone.now(), **gone})
    store.delete(keys_of(item.pk).item)
    end_passes(item, store, ago=TWO_HOURS)
    swept(item)
    assert statuses(item) == ["not_won"] * 4


def test_a_winner_who_asks_for_more_than_the_new_limit_is_told_so_and_the_next_get_the_units(item: SaleItem) -> None:
    big, small = entered(item, 2, units=2), entered(item, 2)
    with_address(*big, *small)
    change(item, Kind.UNITS_PER_BUYER, units=1)
    with drawn_in_this_order(item, [*big, *small]):
        drawn(item)
    swept(item)
    assert statuses(item) == ["not_won", "not_won", "won", "won"]
    assert left_held_sold(item) == (1, 2, 0)
    assert status_by_api(item, big[0]) == ("not_won", None)
    page = own_page(item, big[0])
    assert "You got no units" in page
    assert "each account gets 1 at most" in page
    assert "the order was not paid" not in page
    assert "每个账号最多可购 1 件" in own_page(item, big[0], language="/zh-hans")
    assert "You have not won so far" in own_page(item, big[1])
    assert {mail.buyer for mail in LineMail.objects.all()} == set(big)
    line_mails.send_due(seconds_max=10)
    assert all("each account gets 1 at most" in str(message.body) for message in django_mail.outbox)


def test_a_winner_who_asks_for_more_than_the_limit_gets_the_units_once_it_is_raised_again(item: SaleItem) -> None:
    big, small = entered(item, 1, units=2), entered(item, 1)
    change(item, Kind.UNITS_PER_BUYER, units=1)
    with drawn_in_this_order(item, [*big, *small]):
        drawn(item)
    assert statuses(item) == ["not_won", "won"]
    change(item, Kind.UNITS_PER_BUYER, units=2)
    swept(item)
    assert statuses(item) == ["won", "won"]
    assert left_held_sold(item) == (0, 3, 0)


def test_the_page_of_a_draw_says_why_no_entry_has_won(item: SaleItem) -> None:
    drawn(item)
    assert "Nobody entered for this item." in text_of(Client(), f"/sales/{item.sale_id}/draw/")
    big = make_draw(make_product(slug="cup", name="Cup", price_minor=9900), quantity=1, per_buyer_max=2)
    entered(big, 3, units=2)
    drawn(big)
    page = text_of(Client(), f"/sales/{big.sale_id}/draw/")
    assert "3 entries took part" in page
    assert "No entry has won: each asks for more units than there were." in page
    assert "Nobody entered for this item." not in page


def test_winners_of_a_paused_sale_that_is_opened_again_get_their_units(item: SaleItem) -> None:
    entered(item, 4)
    change(item, Kind.PAUSE)
    drawn(item)
    places = [entry.entry_id for entry in in_order(item)]
    change(item, Kind.END_NOW)
    swept(item)
    change(item, Kind.MOVE_END, closes_at=timezone.now() + TWO_HOURS)
    change(item, Kind.RESUME)
    swept(item)
    assert [entry.entry_id for entry in in_order(item)] == places
    assert statuses(item) == ["won"] * 3 + ["not_won"]
    assert left_held_sold(item) == (0, 3, 0)
