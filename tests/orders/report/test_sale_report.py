"""The report of a sale: its figures from orders and answers, who sees it, its files, and what it costs."""

from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.utils import timezone
from openpyxl import load_workbook
from pytest_django import Settings

from orders import tasks
from orders.life import lifecycle
from orders.models import Order, ShippingAddress
from orders.report.order_figures import step_for
from seckill.changes.rules import Kind
from seckill.line.waiting_list import sweep_lines
from seckill.live import answer_counts
from seckill.models import Sale, SaleItem
from seckill.outcomes import Outcome
from shop.languages.buyer_language import store_language
from shop.models import Product, Variant
from tests.steps.buying import (
    ADDRESS,
    drained,
    let_deadlines_pass,
    make_orders,
    new_buyers,
    order_of,
    reserve_often,
    with_address,
)
from tests.steps.drawing import drawn, entered, make_draw
from tests.steps.shop import goods, other_item, statements_for, text_of
from tests.steps.staff import change, employee, report_file, report_page, report_rows, sale_report
from tests.steps.store import store_away
from tests.steps.waiting import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def sold(item: SaleItem) -> SaleItem:
    """Of five units, five were reserved, one expired and was sold to somebody else; one was refunded."""
    opened = item.sale.opens_at
    first = [order_of(item, buyer) for buyer in new_buyers(5)]
    Order.objects.filter(pk=first[0].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert lifecycle.expire_overdue() == 1
    paying = [*first[1:], order_of(item, new_buyers(1)[0])]
    for number, order in enumerate(paying):
        assert lifecycle.pay(order_id=order.pk)
        # Paid after 10, 20, … 50 seconds.
        reserved_at = opened + timedelta(seconds=number)
        paid_at = reserved_at + timedelta(seconds=10 * (number + 1))
        Order.objects.filter(pk=order.pk).update(reserved_at=reserved_at, ended_at=paid_at)
        store_language(user_id=order.reserved_by, language="zh-hans" if number else "en")
        if number < 3:
            ShippingAddress.objects.create(order=order, **{**ADDRESS, "country": "DE" if number else "CN"})
    Order.objects.filter(pk=first[0].pk).update(reserved_at=opened)
    assert lifecycle.refund(order_id=paying[-1].pk, units_back=True)
    second = int(opened.timestamp())
    told = {Outcome.RESERVED: 6, Outcome.HELD_BY_OTHERS: 30, Outcome.SOLD_OUT: 10, Outcome.UNAVAILABLE: 4}
    answer_counts.add_to_sums({(item.pk, word): count for word, count in told.items()}, second=second)
    return item


def test_it_says_what_was_asked_for_sold_and_returned(sold: SaleItem) -> None:
    found: Any = sale_report(sold)
    (row,) = found.rows
    assert (row.offered, row.asked, row.units.orders, row.units.units) == (5, 50, 6, 6)
    assert (row.units.paid_units, row.units.expired_units, row.units.refunded_units, row.sold) == (5, 1, 1, 4)
    # Three units were surely never back: the four that are sold are one more.
    assert (row.units.returned_units, row.sold_again) == (2, 1)
    assert (row.units.revenue_minor, row.units.refunded_minor) == (5 * 1900, 1900)
    assert found.paid_share == 5 / 6
    # Of those who kept it, who paid after 10, 20, 30 and 40 seconds.
    assert found.times.pay_median == timedelta(seconds=25)
    assert found.times.pay_p90 == timedelta(seconds=37)
    assert found.curve.in_all[-1] == 6
    assert found.curve.units[sold.pk] == [2, 1, 1, 1, 1]
    assert found.sums.words[Outcome.HELD_BY_OTHERS] == 30
    assert [+counts for counts in found.sums.minutes.values()] == [found.sums.words]
    assert (found.sums.countries, found.sums.languages) == ({"CN": 1, "DE": 2}, {"en": 1, "zh-hans": 4})
    # Forty who heard that there are not enough, of whom five in six pay: more than twice the stock.
    assert (found.more_stock.missed, found.more_stock.more_units, found.more_stock.in_all) == (40, 5, 9)
    # It is of one sale.
    other = other_item()
    reserve_often(other, 2)
    drained(other)
    let_deadlines_pass()
    assert (sale_report(sold).total.units, sale_report(other).total.units) == (6, 2)


def test_it_says_which_faults_there_were(sold: SaleItem) -> None:
    opened = Sale.objects.get(pk=sold.sale_id).opens_at
    for minute, word in ((-1, "error"), (-3, Outcome.UNAVAILABLE)):
        second = int(opened.timestamp()) + 60 * minute
        answer_counts.add_to_sums({(sold.pk, word): 2}, second=second)
    Order.objects.filter(pk=order_of(sold, new_buyers(1)[0]).pk).update(
        created_at=timezone.now() + timedelta(minutes=5)
    )
    faults: Any = sale_report(sold).faults
    first, second, late = faults
    # Two in a minute and four in the next are one fault.
    assert [(fault.kind, fault.value) for fault in (first, second)] == [("errors", 2), ("errors", 6)]
    assert (first.until - first.since, second.until - second.since) == (timedelta(minutes=1), timedelta(minutes=2))
    assert (late.kind, late.value >= 299) == ("seconds_from_yes_to_order", True)


@pytest.mark.parametrize(
    ("seconds", "step"), [(0, 1), (59, 1), (60, 2), (3600, 120), (86_400, 1800), (86_400 * 365, 86_400 * 7)]
)
def test_a_curve_has_sixty_steps_at_most(seconds: int, step: int) -> None:
    assert step_for(seconds) == step
    assert seconds // step < 60


def test_it_says_what_it_does_not_know(sold: SaleItem, settings: Settings) -> None:
    assert not any("only" in sentence for sentence in sale_report(sold).unknown)
    reserve_often(sold)
    drained(sold)
    assert any("7 reservations" in sentence and "only 6" in sentence for sentence in sale_report(sold).unknown)
    store_away(settings, "default")
    found = sale_report(sold)
    assert (found.asked, found.more_stock) == (None, None)
    assert found.sums.countries == {"CN": 1, "DE": 2}
    assert any("cache server does not answer" in sentence for sentence in found.unknown)


def says_that_answers_are_missing(item: SaleItem) -> bool:
    return any("answers of yes were counted" in sentence for sentence in sale_report(item).unknown)


def test_it_blames_no_server_for_orders_that_nobody_called_for(product: Product, buyer: User, rival: User) -> None:
    # Given a draw, and a waiting list that gave a unit; the first buyer's answer was counted
    drawing = make_draw(product, quantity=2)
    entered(drawing, 2)
    drawn(drawing)
    item = other_item(quantity=1, waiting_list=True)
    sweep_lines()
    with_address(rival)
    order = order_of(item, buyer)
    second = int(timezone.now().timestamp())
    answer_counts.add_to_sums({(item.pk, Outcome.RESERVED): 1}, second=second)
    join(item, rival)
    assert lifecycle.cancel(order_id=order.pk)
    drained(item)
    # Then the reports of both have orders, and know all answers
    assert [sale_report(sold).total.orders for sold in (drawing, item)] == [2, 2]
    assert not any(says_that_answers_are_missing(sold) for sold in (drawing, item))


def test_it_blames_no_server_for_a_rejected_order_from_the_waiting_list(buyer: User, rival: User) -> None:
    # Given a unit for which the answer to its buyer was counted
    item = other_item(quantity=1, waiting_list=True)
    sweep_lines()
    order = order_of(item, buyer)
    answer_counts.add_to_sums({(item.pk, Outcome.RESERVED): 1}, second=int(timezone.now().timestamp()))
    # When it goes to the first in line, whose account was blocked meanwhile
    join(item, rival)
    User.objects.filter(pk=rival.pk).update(is_active=False)
    assert lifecycle.cancel(order_id=order.pk)
    drained(item)
    # Then the report knows all answers
    assert sale_report(item).total.rejected_orders == 1
    assert not says_that_answers_are_missing(item)


def test_it_blames_no_server_for_a_buyer_who_heard_only_the_second_answer(item: SaleItem, buyer: User) -> None:
    order_of(item, buyer)
    assert says_that_answers_are_missing(item)
    answer_counts.add_to_sums({(item.pk, Outcome.ALREADY_RESERVED): 1}, second=int(timezone.now().timestamp()))
    assert not says_that_answers_are_missing(item)


def test_units_that_staff_withdrew_are_not_sold_again(item: SaleItem) -> None:
    # Given five units, of which three were reserved and came back
    for order in [order_of(item, buyer) for buyer in new_buyers(3)]:
        assert lifecycle.cancel(order_id=order.pk)
    # When staff withdraw three, and the others are sold
    change(item, Kind.WITHDRAW_UNITS, units=3)
    for buyer in new_buyers(2):
        assert lifecycle.pay(order_id=order_of(item, buyer).pk)
    # Then these may be the two that nobody had before
    assert [(row.units.returned_units, row.sold, row.sold_again) for row in sale_report(item).rows] == [(3, 2, 0)]


@pytest.mark.parametrize(("there", "offered", "sold_again"), [(4, 5, 1), (1, 2, 0)])
def test_units_that_did_not_come_back_at_a_reopening_are_not_sold_again(
    item: SaleItem, there: int, offered: int, sold_again: int
) -> None:
    # Given five units, of which one was sold, one came back, and four went to the stock
    first, second = (order_of(item, buyer) for buyer in new_buyers(2))
    assert lifecycle.pay(order_id=first.pk)
    assert lifecycle.cancel(order_id=second.pk)
    change(item, Kind.END_NOW)
    assert tasks.return_unsold_units() == 4
    # When the sale is opened again with those that are still there, and all are sold
    Variant.objects.filter(pk=item.variant_id).update(available=there)
    change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=1))
    for buyer in new_buyers(there):
        assert lifecycle.pay(order_id=order_of(item, buyer).pk)
    # Then the one that came back is known to be sold again only if all five were sold
    assert [(row.offered, row.sold, row.sold_again) for row in sale_report(item).rows] == [
        (offered, 1 + there, sold_again)
    ]


def test_the_page_and_the_files_in_both_languages_show_the_money_to_those_who_may_see_orders(
    as_manager: Client, sold: SaleItem
) -> None:
    of_sale = text_of(as_manager, f"/admin/seckill/sale/{sold.sale_id}/change/")
    assert f'href="{report_page(sold)}"' in of_sale
    page = text_of(as_manager, report_page(sold))
    for text in ("Germany", "English", "83.3", "All remaining units are reserved", 'data-type="line"'):
        assert text in page
    assert "的报告" in text_of(as_manager, report_page(sold), **{"Accept-Language": "zh-hans"})
    # Sums of money that count differently have different names.
    assert "<dt>Revenue before refunds</dt><dd>95.00 CNY</dd>" in page
    assert "<dt>Value sold</dt>" in of_sale
    assert "What buyers have paid, and what was refunded of it, is in the report." in of_sale
    assert ">Revenue<" not in page + of_sale

    answer = as_manager.get(report_file(sold, "csv"))
    assert answer.headers["Content-Disposition"] == f'attachment; filename="sale-{sold.sale_id}-report.csv"'
    rows = report_rows(as_manager, sold)
    assert rows["item", "revenue"] == "95.00"
    assert rows["answers", "held_by_others"] == "30"
    assert rows["sale", "seconds_to_pay_median"] == "25.0"
    sheet = load_workbook(BytesIO(as_manager.get(report_file(sold, "xlsx")).content)).active
    assert sheet is not None
    cells = [row for row in sheet.iter_rows(values_only=True) if row[0] == "buyers_by_country"]
    assert sorted((row[3], row[4]) for row in cells) == [("CN", 1), ("DE", 2)]
    assert as_manager.get(report_file(sold, "pdf")).status_code == 404

    as_manager.force_login(employee("view_sale"))
    for address in (report_page(sold), report_file(sold, "csv")):
        assert "95.00" not in text_of(as_manager, address)


def test_a_draft_has_none_and_a_sale_without_orders_has_an_empty_one(as_manager: Client, item: SaleItem) -> None:
    assert "–" in text_of(as_manager, report_page(item))
    Sale.objects.filter(pk=item.sale_id).update(published_at=None)
    assert as_manager.get(report_page(item)).status_code == 404


def test_many_orders_and_items_take_no_more_statements(as_manager: Client, sold: SaleItem, buyer: User) -> None:
    few = statements_for(as_manager, report_page(sold))
    for number in range(3):
        more = SaleItem.objects.create(
            sale=sold.sale, variant=goods(f"more-{number}"), price_minor=100, quantity=50, per_buyer_max=1
        )
        make_orders(10, buyer=buyer, item=more)
    Order.objects.filter(lines__sale_item=more).update(reserved_at=F("reserved_at") + timedelta(hours=5))
    assert statements_for(as_manager, report_page(sold)) == few
    assert few <= 20
