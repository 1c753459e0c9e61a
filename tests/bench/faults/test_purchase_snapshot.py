"""What the snapshot of the ordinary shop says of real orders, their units, and the payment company's money."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import override_settings

from bench.faults.shopping.goods import Goods, Shelf, end_forgotten, new_goods
from bench.faults.shopping.purchase_snapshot import PurchaseSnapshot, take_purchases
from orders import tasks
from orders.cart.cart_holder import Holder, open_cart
from orders.cart.cart_lines import add_units
from orders.checkout.placement import place_order
from orders.life import lifecycle
from orders.models import Order
from orders.payments.simulated import company
from orders.payments.simulated.models import SimulatedMessage
from orders.refund_records import RefundRequest
from shop.models import StockChange, Variant
from shop.stock.movements import move
from tests.steps.buying import wish_of
from tests.steps.paying import message, payment_of, send_webhook

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def goods() -> Goods:
    """Two products with five units each."""
    return new_goods("trial", Shelf(products=2, units=5))


def ordered(goods: Goods, buyer: User, *, key: str = "key", units: int = 2) -> Order:
    """An order of the first product."""
    holder = Holder(buyer_id=buyer.pk)
    with transaction.atomic():
        add_units(cart=open_cart(holder), variant=Variant.objects.get(sku=goods.skus[0]), units=units)
    order = place_order(wish_of(holder, note=key)).order
    assert order is not None
    return order


def paid(goods: Goods, buyer: User) -> Order:
    order = ordered(goods, buyer)
    payment = payment_of(order)
    assert company.pay(reference=payment.provider_reference)
    assert send_webhook(message(payment, reservation=None)).status_code == 200
    return order


def snapshot_after_messages(goods: Goods) -> PurchaseSnapshot:
    """Once the company's own messages count as delivered: they are not the subject here."""
    SimulatedMessage.objects.update(delivered_at="2026-01-01T00:00:00Z")
    return take_purchases(goods)


def test_without_goods_there_is_nothing_to_say() -> None:
    assert take_purchases(Goods()) == PurchaseSnapshot()


def test_an_open_order_holds_its_units_and_expires_as_soon_as_the_sweep_comes_if_it_is_forgotten(
    goods: Goods, buyer: User
) -> None:
    ordered(goods, buyer, key="the key")
    snapshot = take_purchases(goods)
    (row,) = snapshot.purchases
    assert (row.key, row.units, row.status, row.overdue, row.settled) == ("the key", 2, "awaiting_payment", False, True)
    first, second = snapshot.goods
    assert (first.available, first.held, first.ordered_held) == (3, 2, 2)
    assert (second.available, second.held, second.start) == (5, 0, 5)
    assert (first.missing, first.too_many, first.miscounted) == (0, 0, 0)
    assert snapshot.pending_work() == ["1 ordinary orders awaiting payment"]

    end_forgotten(goods)
    (row,) = take_purchases(goods).purchases
    assert row.overdue
    assert tasks.expire_overdue() == 1
    snapshot = take_purchases(goods)
    assert [row.status for row in snapshot.purchases] == ["expired"]
    assert snapshot.goods[0].available == 5
    assert not snapshot.pending_work()


def test_the_company_keeps_what_the_shop_says_also_after_a_refund_of_a_part(goods: Goods, buyer: User) -> None:
    order = paid(goods, buyer)
    (row,) = snapshot_after_messages(goods).purchases
    assert (row.captures, row.kept_minor, row.due_minor) == (1, order.amount_minor, order.amount_minor)
    wish = RefundRequest(refund_id=uuid4(), amount_minor=100, units_of_line={order.lines.get().pk: 1}, units_back=True)
    lifecycle.refund_amount(order_id=order.pk, request=wish)
    waiting = take_purchases(goods)
    assert waiting.purchases[0].kept_minor == waiting.purchases[0].due_minor + 100
    assert waiting.purchases[0].money_pending
    tasks.move_refunds()
    (row,) = snapshot_after_messages(goods).purchases
    assert (row.kept_minor, row.due_minor, row.refunds) == (order.amount_minor - 100, order.amount_minor - 100, 1)
    tea = take_purchases(goods).goods[0]
    assert (tea.available, tea.sold, tea.ordered_sold, tea.missing) == (4, 1, 1, 0)


@override_settings(SIMULATED_SLOW_SECONDS=60)
def test_money_that_came_for_an_expired_order_is_pending(goods: Goods, buyer: User) -> None:
    order = ordered(goods, buyer)
    payment = payment_of(order)
    assert company.pay_slowly(reference=payment.provider_reference)
    end_forgotten(goods)
    tasks.expire_overdue()
    (row,) = snapshot_after_messages(goods).purchases
    assert (row.status, row.captures, row.kept_minor, row.due_minor) == ("expired", 1, order.amount_minor, 0)
    assert row.money_pending


def test_units_that_are_moved_without_an_order_are_missing_or_miscounted(goods: Goods, buyer: User) -> None:
    ordered(goods, buyer)
    variant_id = goods.variant_ids[goods.skus[0]]
    move(kind=StockChange.Kind.SOLD, units_of={variant_id: 1})
    assert take_purchases(goods).goods[0].miscounted == 2
    Variant.objects.filter(pk=variant_id).update(available=1)
    snapshot = take_purchases(goods)
    assert snapshot.goods[0].missing == 2
    assert any("available, by counter and journal" in difference for difference in snapshot.audit)
