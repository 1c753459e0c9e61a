"""The report says who got the units, in sums: by second, age of the account, arrival, network and draw."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from orders.models import KeptReport, Order, OrderStatus
from orders.report.winners import SECONDS, Won
from seckill.guards import buyer_networks
from seckill.live.answer_counts import answer_counts
from seckill.models import Sale, SaleItem
from seckill.waiting_room.admission import remove_old_rooms
from seckill.waiting_room.room_ledger import arrive
from shop.models import Product
from tests.steps.buying import new_buyers, order_of
from tests.steps.drawing import drawn, entered, make_draw, swept
from tests.steps.guarding import confirmed, guarded_by, told_of_pass
from tests.steps.shop import make_item, text_of
from tests.steps.staff import report_page, report_rows, sale_report
from tests.steps.store import store_away
from tests.steps.waiting_room import open_now

pytestmark = pytest.mark.django_db


def reserved_after(item: SaleItem, buyer: User, seconds: float, *, age: timedelta) -> Order:
    order, reserved_at = order_of(item, buyer), item.sale.opens_at + timedelta(seconds=seconds)
    Order.objects.filter(pk=order.pk).update(reserved_at=reserved_at)
    User.objects.filter(pk=buyer.pk).update(date_joined=reserved_at - age)
    return order


def test_units_are_told_by_second_and_by_the_age_of_the_account(item: SaleItem, as_manager: Client) -> None:
    after = (-0.2, 0.5, 1, 40, SECONDS[-1] + 5)
    ages = (timedelta(0), timedelta(hours=23), timedelta(days=1), timedelta(days=29), timedelta(days=4000))
    orders = [
        reserved_after(item, buyer, seconds, age=age)
        for buyer, seconds, age in zip(new_buyers(5), after, ages, strict=True)
    ]
    assert lifecycle.pay(order_id=orders[0].pk)
    found = sale_report(item)
    assert found.winners.by_second == [
        (0, 1, Won(2, 1)),
        (1, 2, Won(1, 0)),
        (30, 60, Won(1, 0)),
        (SECONDS[-1], None, Won(1, 0)),
    ]
    by_age = {age: won.units for age, won in found.winners.by_age.items()}
    assert list(by_age.items()) == [("day", 2), ("week", 1), ("month", 1), ("older", 1)]
    assert "the first second" in text_of(as_manager, report_page(item))
    assert "注册时间" in text_of(as_manager, report_page(item), **{"Accept-Language": "zh-hans"})
    rows = report_rows(as_manager, item)
    assert (rows["units_by_second", "second_0_to_1"], rows["paid_units_by_second", "second_0_to_1"]) == ("2", "1")
    # A sale without rules refuses nobody by one.
    assert found.refused == {}
    assert "Refused by a rule" not in text_of(as_manager, report_page(item))
    assert "Too many accounts" not in text_of(as_manager, f"/admin/seckill/sale/{item.sale_id}/board/")


def test_a_waiting_room_is_told_by_arrival_and_kept(product: Product, as_manager: Client, settings: Any) -> None:
    item = make_item(product, quantity=5, opens_in_seconds=300, has_room=True)
    tasks.move_waiting_rooms()
    early, later, without = new_buyers(2), new_buyers(1), new_buyers(1)
    for buyer in early:
        arrive(sale_id=item.sale_id, account_id=buyer.pk)
    open_now(item)
    arrive(sale_id=item.sale_id, account_id=later[0].pk)
    for buyer in (*early, *later, *without):
        order_of(item, buyer)
    expected = {"early": 2, "later": 1, "unknown": 1}
    assert sale_report(item).sums.arrivals == expected
    now = timezone.now()
    Sale.objects.update(opens_at=now - timedelta(days=4), closes_at=now - timedelta(days=2, hours=1))
    # While the store is away nothing is kept, since the arrivals would be missing for good.
    former = store_away(settings, "seckill")
    assert tasks.keep_sale_reports() == 0
    settings.CACHES = former
    assert tasks.keep_sale_reports() == 1
    assert remove_old_rooms() == 1
    assert sale_report(item).sums.arrivals == expected
    assert report_rows(as_manager, item)["units_by_arrival", "early"] == "2"
    # A sale that is opened again is added up again, without a room.
    Sale.objects.update(closes_at=now - timedelta(days=1, hours=1))
    assert tasks.keep_sale_reports() == 1
    assert sale_report(item).sums.arrivals == expected
    Sale.objects.update(closes_at=now + timedelta(days=1))
    former = store_away(settings, "seckill")
    assert sale_report(item).sums.arrivals == {}
    settings.CACHES = former


def test_a_room_stays_until_the_report_is_kept_though_units_are_held_for_a_week(product: Product) -> None:
    make_item(product, opens_in_seconds=300, has_room=True)
    tasks.move_waiting_rooms()
    now, day = timezone.now(), timedelta(days=1)
    for days_ago, kept, removed in ((7.9, 0, 0), (8.1, 1, 0), (9.1, 0, 1)):
        closes_at = now - days_ago * day
        Sale.objects.update(opens_at=closes_at - day, closes_at=closes_at, hold_seconds=7 * 24 * 3600)
        KeptReport.objects.update(closes_at=closes_at)
        assert (tasks.keep_sale_reports(), remove_old_rooms()) == (kept, removed), days_ago


def test_units_are_told_by_network_and_kept(item: SaleItem, as_manager: Client) -> None:
    addresses = ("192.0.2.1", "192.0.2.200", "198.51.100.7", "2001:db8::1")
    *buyers, without = new_buyers(5)
    for buyer, address in zip(buyers, addresses, strict=True):
        assert told_of_pass(item, buyer, address=address) == "pass"
    for buyer in (*buyers, without):
        order_of(item, buyer)
    buyer_networks.buyer_networks.write()
    expected = {
        **{"networks": 3, "units": 4, "largest": 2, "unknown": 1},
        **{"networks_1": 2, "units_1": 2, "networks_2_to_5": 1, "units_2_to_5": 2},
    }
    assert sale_report(item).sums.networks == expected
    page = text_of(as_manager, report_page(item), **{"Accept-Language": "zh-hans"})
    assert "按网络" in page
    now = timezone.now()
    Sale.objects.update(opens_at=now - timedelta(days=4), closes_at=now - timedelta(days=2))
    assert tasks.keep_sale_reports() == 1
    buyer_networks.connection().delete(buyer_networks.key(item.sale_id))
    assert sale_report(item).sums.networks == expected
    assert report_rows(as_manager, item)["units_by_network", "largest"] == "2"
    # A sale that is opened again.
    Sale.objects.update(closes_at=now - timedelta(days=1, hours=1))
    assert tasks.keep_sale_reports() == 1
    assert sale_report(item).sums.networks == expected


def test_a_draw_is_told_by_entries(product: Product, as_manager: Client) -> None:
    item = make_draw(product, quantity=4, per_buyer_max=2)
    entered(item, 2, units=2)
    entered(item, 2)
    drawn(item)
    found = sale_report(item).winners.draw
    assert found is not None
    assert (found.entries, found.units, found.won_units, found.won_later_entries) == (4, 6, 4, 0)
    assert report_rows(as_manager, item)["draw", "entries"] == "4"


def test_winners_who_passed_their_units_on_are_told_as_those_who_won_later(product: Product) -> None:
    # Given one unit, of three entries
    item = make_draw(product, quantity=1)
    entered(item, 3)
    drawn(item)
    # When the first two in the drawn order cancel, one after the other
    for _winner in range(2):
        order = Order.objects.get(status=OrderStatus.AWAITING_PAYMENT)
        assert lifecycle.cancel(order_id=order.pk)
        swept(item)
    # Then both who got it afterwards have won later
    found = sale_report(item).winners.draw
    assert found is not None
    assert (found.won_entries, found.won_later_entries, found.won_later_units) == (1, 2, 2)


def test_refusals_are_told_by_rule_and_are_no_answers(item: SaleItem, as_manager: Client) -> None:
    guarded_by(item, needs_confirmed_mail=True, accounts_per_network=1)
    first, second, third = new_buyers(3)
    assert told_of_pass(item, first) == "mail_not_confirmed"
    assert [told_of_pass(item, confirmed(buyer)) for buyer in (second, third)] == ["pass", "too_many_accounts"]
    answer_counts.write(second=int(timezone.now().timestamp()))
    found = sale_report(item)
    assert (found.refused, found.asked) == ({"mail_not_confirmed": 1, "too_many_accounts": 1}, 0)
    assert "Too many accounts" in text_of(as_manager, report_page(item))
    assert "Too many accounts" in text_of(as_manager, f"/admin/seckill/sale/{item.sale_id}/board/")
    rows = report_rows(as_manager, item)
    assert rows["refusals", "too_many_accounts"] == "1"
    assert ("answers", "too_many_accounts") not in rows
