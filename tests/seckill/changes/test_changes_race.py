"""Changes while many buyers reserve: the units of both managers count, and held units are never withdrawn."""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from orders.life import lifecycle
from orders.models import Order, OrderStatus
from seckill import ledger
from seckill.changes.journal import sweep_changes
from seckill.changes.rules import CannotChange
from seckill.items.lock import item_lock
from seckill.ledger_words import Published
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.publication import publish_sale
from shop.models import Product
from tests.steps.at_once import at_once
from tests.steps.buying import drained, reserve, status_of
from tests.steps.shop import make_item
from tests.steps.staff import change
from tests.steps.store import counters_of

pytestmark = pytest.mark.django_db(transaction=True)

Kind = SaleChange.Kind
Status = SaleChange.Status

THREADS = 8


def or_refusal(item: SaleItem, kind: Kind, **more: Any) -> SaleChange | str:
    """The change, or the rule that it would break."""
    try:
        return change(SaleItem.objects.get(pk=item.pk), kind, **more)
    except CannotChange as refusal:
        return str(refusal)


def figures(item: SaleItem) -> tuple[int, int, int, int]:
    """Quantity in PostgreSQL, and left, held and sold in the store, after checking that they agree."""
    item.refresh_from_db()
    found = counters_of(item)
    assert found.left is not None
    assert item.quantity == found.quantity == found.left + found.held + found.sold
    return item.quantity or 0, found.left, found.held, found.sold


def test_managers_who_add_units_at_once_all_count(product: Product) -> None:
    item = make_item(product)
    at_once([partial(or_refusal, item, Kind.ADD_UNITS, units=units) for units in range(1, THREADS + 1)])
    # A change that waited too long for the lock is left to the sweep.
    sweep_changes()
    assert figures(item)[0] == 5 + sum(range(1, THREADS + 1))
    assert set(SaleChange.objects.values_list("status", flat=True)) == {Status.APPLIED}


def test_one_form_that_is_sent_by_many_threads_is_one_change(product: Product) -> None:
    item, token = make_item(product), uuid4()
    answers = at_once([lambda: change(item, Kind.ADD_UNITS, units=7, token=token)] * THREADS)
    assert len({entry.pk for entry in answers}) == SaleChange.objects.count() == 1
    assert figures(item)[0] == 12


def test_of_several_pauses_at_once_one_is_made_and_the_others_are_refused(product: Product) -> None:
    item = make_item(product)
    for kind, said, paused in ((Kind.PAUSE, "already paused", True), (Kind.RESUME, "not paused", False)):
        answers = at_once([partial(or_refusal, item, kind)] * THREADS)
        assert len([answer for answer in answers if not isinstance(answer, str)]) == 1
        assert all(said in answer for answer in answers if isinstance(answer, str))
        assert Sale.objects.get().paused is paused
    assert SaleChange.objects.count() == 2


@pytest.mark.slow
def test_withdrawing_while_buyers_reserve_leaves_them_what_they_hold(product: Product) -> None:
    item = make_item(product, quantity=60, per_buyer_max=100)
    buyers = [User.objects.create_user(f"buyer-{number}") for number in range(THREADS)]
    told_yes: list[int] = []

    def buy(buyer: User) -> None:
        for number in range(10):
            reservation_id = passes.new_reservation_id(item.pk)
            answer = ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=1)
            if answer.outcome == Outcome.RESERVED:
                told_yes.append(1)
            if number % 3 == 0:
                ledger.confirm(item_id=item.pk, reservation_ids=[reservation_id])

    def change_often() -> None:
        for number in range(10):
            or_refusal(item, Kind.WITHDRAW_UNITS, units=5)
            if number % 2:
                or_refusal(item, Kind.ADD_UNITS, units=2)

    calls: list[Callable[[], None]] = [*(partial(buy, buyer) for buyer in buyers), change_often]
    at_once(calls)
    sweep_changes()
    drained(item)

    quantity, left, held, sold = figures(item)
    assert held + sold == len(told_yes) == item.taken <= quantity
    assert not Order.objects.filter(status=OrderStatus.REJECTED).exists()
    applied = SaleChange.objects.filter(status=Status.APPLIED)
    added = sum(change.units or 0 for change in applied.filter(kind=Kind.ADD_UNITS))
    withdrawn = sum(change.units or 0 for change in applied.filter(kind=Kind.WITHDRAW_UNITS))
    assert quantity == 60 + added - withdrawn
    assert left >= 0


@pytest.mark.parametrize("kind", [Kind.END_NOW, Kind.PAUSE])
def test_an_open_hold_is_paid_after_the_end_or_a_pause(item: SaleItem, buyer: User, kind: Kind) -> None:
    reserve(item, buyer)
    change(item, kind)
    # The order is written after the end, and paid after that.
    drained(item)
    order = Order.objects.get()
    assert lifecycle.pay(order_id=order.pk)
    assert status_of(order) == OrderStatus.PAID
    assert figures(item) == (5, 4, 0, 1)


def test_a_change_waits_while_its_item_is_announced(product: Product) -> None:
    """Else a pause could come between the reading of pending changes and the item's terms in the store."""
    item = make_item(product, published=False)
    publish, free = ledger.publish, []

    def is_free() -> bool:
        with item_lock(item_id=item.pk, wait=False) as acquired:
            return acquired

    def look_and_publish(**asked: Any) -> Published:
        free.extend(at_once([is_free]))
        return publish(**asked)

    with mock.patch.object(ledger, "publish", look_and_publish):
        publish_sale(sale_id=item.sale_id)
    assert free == [False]
