"""A sale takes its units out of the ordinary stock when it is published, and gives the unsold ones back at its end."""

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from orders.models import Order
from orders.repair.audit import audit
from orders.repair.stock_audit import audit_stock
from seckill import ledger
from seckill.changes.journal import sweep_changes
from seckill.changes.rules import CannotChange
from seckill.changes.unsold import return_unsold_of
from seckill.models import Sale, SaleChange, SaleItem
from seckill.publication import CannotPublish, publish_sale
from seckill.staff.duplicate import duplicate
from shop.models import Product, StockChange
from shop.staff.stock_step import Count, take
from tests.steps.buying import order_of
from tests.steps.crash import killed_at
from tests.steps.shop import make_item, variant_of
from tests.steps.staff import change
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db

Kind = SaleChange.Kind


@pytest.fixture
def product(product: Product) -> Product:
    """With twelve units in stock."""
    take(Count(12, seen=None), variant_id=variant_of(product).pk, reason="count", made_by=None)
    return product


def available(product: Product) -> int:
    return variant_of(product).available


def moves(product: Product) -> list[tuple[str, int, str]]:
    """The entries about flash sales in the stock's journal: kind, units, sale."""
    kinds = (StockChange.Kind.TO_SALE, StockChange.Kind.FROM_SALE)
    entries = StockChange.objects.filter(variant__product=product, kind__in=kinds).order_by("pk")
    return list(entries.values_list("kind", "units", "reference"))


def test_more_units_than_are_in_stock_cannot_be_published(product: Product) -> None:
    item = make_item(product, quantity=13, published=False)
    with pytest.raises(CannotPublish, match="13 units of “Longjing tea”, but only 12 are in stock"):
        publish_sale(sale_id=item.sale_id)
    assert not Sale.objects.get().is_published
    assert available(product) == 12


def test_killed_while_publishing_and_repeated_the_units_leave_once(product: Product) -> None:
    item = make_item(product, quantity=5, published=False)
    for point in ("publication.before_commit", "publication.after_commit"):
        with killed_at(point):
            publish_sale(sale_id=item.sale_id)
    for _time in range(2):
        publish_sale(sale_id=item.sale_id)
    assert available(product) == 7
    assert moves(product) == [("to_sale", 5, f"sale {item.sale_id}")]
    item.refresh_from_db()
    assert item.announced_at is not None


def test_added_units_come_from_the_stock_and_withdrawn_ones_go_back(product: Product, buyer: User) -> None:
    item = make_item(product, quantity=5, per_buyer_max=5)
    change(item, Kind.ADD_UNITS, units=7)
    assert available(product) == 0
    with pytest.raises(CannotChange, match="Only 0 units of “Longjing tea” are in stock"):
        change(item, Kind.ADD_UNITS, units=1)
    order_of(item, buyer, 5)
    for units, status in ((4, SaleChange.Status.APPLIED), (4, SaleChange.Status.REFUSED)):
        assert change(item, Kind.WITHDRAW_UNITS, units=units).status == status
        assert available(product) == 4
    assert SaleItem.objects.get().quantity == 8


def test_unsold_units_come_back_once_when_the_sale_is_over(product: Product, buyer: User, rival: User) -> None:
    item = make_item(product, quantity=5)
    paid, unpaid = order_of(item, buyer), order_of(item, rival)
    assert lifecycle.pay(order_id=paid.pk)
    # While the sale is open, nothing comes back
    assert tasks.return_unsold_units() == 0
    change(item, Kind.END_NOW)
    assert tasks.return_unsold_units() == 3
    assert tasks.return_unsold_units() == 0
    assert available(product) == 10
    # A unit whose hold ends unpaid comes back later
    Order.objects.filter(pk=unpaid.pk).update(expires_at=F("reserved_at"))
    tasks.expire_overdue()
    assert tasks.return_unsold_units() == 1
    assert available(product) == 11
    item.refresh_from_db()
    assert (item.quantity, item.taken) == (1, 1)
    assert not audit(item_id=item.pk).comparison.problem_count
    assert moves(product)[1:] == [("from_sale", 3, f"sale {item.sale_id}"), ("from_sale", 1, f"sale {item.sale_id}")]


@pytest.mark.parametrize("point", ["changes.before_store", "changes.after_store"])
def test_killed_on_the_way_the_units_come_back_once(product: Product, point: str) -> None:
    item = make_item(product, quantity=5)
    change(item, Kind.END_NOW)
    with killed_at(point):
        return_unsold_of(item.pk)
    assert available(product) == 7
    tasks.sweep_outboxes()
    tasks.return_unsold_units()
    assert available(product) == 12
    assert SaleItem.objects.get().quantity == 0
    assert not audit(item_id=item.pk).comparison.problem_count
    assert moves(product)[1:] == [("from_sale", 5, f"sale {item.sale_id}")]


def test_units_that_never_came_from_the_stock_do_not_go_there(product: Product) -> None:
    """A sale that was published by an earlier release."""
    item = make_item(product, quantity=5)
    SaleItem.objects.update(from_stock=False)
    before = available(product)
    change(item, Kind.END_NOW)
    assert tasks.return_unsold_units() == 0
    assert available(product) == before


def test_a_duplicate_of_a_past_sale_has_the_units_that_were_planned(product: Product, buyer: User) -> None:
    item = make_item(product, quantity=5)
    assert lifecycle.pay(order_id=order_of(item, buyer).pk)
    change(item, Kind.END_NOW)
    tasks.return_unsold_units()
    copy = duplicate(sale_id=item.sale_id).items.get()
    assert (copy.quantity, copy.taken, copy.from_stock) == (5, 0, False)
    publish_sale(sale_id=copy.sale_id)
    assert available(product) == 6


def test_a_sale_that_is_opened_again_has_its_units_again(product: Product, buyer: User) -> None:
    item = make_item(product, quantity=5)
    assert lifecycle.pay(order_id=order_of(item, buyer).pk)
    for day in (1, 2):
        change(item, Kind.END_NOW)
        assert tasks.return_unsold_units() == 4
        assert available(product) == 11
        change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=day))
        assert (item.quantity, left_held_sold(item)) == (5, (4, 0, 1))
        assert available(product) == 7
        assert tasks.return_unsold_units() == 0
    assert not audit(item_id=item.pk).comparison.problem_count
    assert not audit_stock().differences
    change(item, Kind.END_NOW)
    tasks.return_unsold_units()
    assert duplicate(sale_id=item.sale_id).items.get().quantity == 5


def test_units_that_were_bought_meanwhile_do_not_come_back(product: Product) -> None:
    item = make_item(product, quantity=5)
    # A later end of a sale that is open takes no units.
    change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=1))
    assert (item.quantity, available(product)) == (5, 7)
    change(item, Kind.END_NOW)
    tasks.return_unsold_units()
    take(Count(3, seen=None), variant_id=variant_of(product).pk, reason="count", made_by=None)
    change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=1))
    assert (item.quantity, available(product)) == (3, 0)


def test_a_sale_prolonged_while_its_units_are_about_to_go_back_keeps_them(product: Product) -> None:
    item = make_item(product, quantity=5)
    change(item, Kind.END_NOW)
    read = ledger.read

    def read_then_prolonged(**asked: Any) -> ledger.Counters | None:
        figures = read(**asked)
        change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=1))
        return figures

    with mock.patch.object(ledger, "read", read_then_prolonged):
        assert return_unsold_of(item.pk) == 0
    item.refresh_from_db()
    assert (item.quantity, item.offered, left_held_sold(item)) == (5, 5, (5, 0, 0))
    assert available(product) == 7


@pytest.mark.parametrize("point", ["changes.before_store", "changes.after_store"])
def test_a_sale_is_not_prolonged_while_its_units_are_on_their_way_to_the_stock(product: Product, point: str) -> None:
    item = make_item(product, quantity=5)
    take(Count(0, seen=None), variant_id=variant_of(product).pk, reason="count", made_by=None)
    change(item, Kind.END_NOW)
    with killed_at(point):
        return_unsold_of(item.pk)
    tomorrow = timezone.now() + timedelta(days=1)
    with pytest.raises(CannotChange, match="on their way back to the stock. Try again in a moment"):
        change(item, Kind.MOVE_END, closes_at=tomorrow)
    assert sweep_changes() == 1
    change(item, Kind.MOVE_END, closes_at=tomorrow)
    assert (item.quantity, item.offered, left_held_sold(item)) == (5, 5, (5, 0, 0))
    assert available(product) == 0
