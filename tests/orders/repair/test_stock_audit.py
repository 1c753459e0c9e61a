"""The audit of the ordinary stock finds each figure that does not agree."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.db.models import F

from orders.life import lifecycle
from orders.models import Order, OrderStatus
from orders.repair.stock_audit import audit_stock
from orders.units.in_stock import move_units
from seckill.models import SaleItem
from shop.models import StockChange, Variant
from tests.steps.buying import plain_order
from tests.steps.operating import run_command
from tests.steps.paying import refund_part
from tests.steps.shop import make_item, make_product, units_in, variant_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tea() -> Variant:
    return variant_of(make_product(name="Tea", slug="tea", price_minor=5000, units=50))


def held_order(buyer: User, variant: Variant, *, units: int) -> Order:
    """An order as a checkout leaves it."""
    with transaction.atomic():
        order = plain_order(variant, buyer, units, 5000)
        move_units(order_ids=[order.pk], kind=StockChange.Kind.HELD)
    return order


def test_every_way_of_an_order_keeps_the_figures_in_agreement(buyer: User, tea: Variant) -> None:
    make_item(tea.product, quantity=10)
    waiting, cancelled, overdue, paid, refunded, kept = (held_order(buyer, tea, units=n) for n in range(1, 7))
    assert units_in(tea) == (19, 21, 0)
    assert lifecycle.cancel(order_id=cancelled.pk)
    Order.objects.filter(pk=overdue.pk).update(expires_at=F("reserved_at"))
    assert lifecycle.expire_overdue() == 1
    for order in (paid, refunded, kept):
        assert lifecycle.pay(order_id=order.pk)
    assert lifecycle.refund(order_id=refunded.pk, units_back=True)
    assert lifecycle.refund(order_id=kept.pk, units_back=False)
    assert units_in(tea) == (50 - 10 - 1 - 4 - 6, 1, 4 + 6)
    audit = audit_stock()
    assert (audit.variants, audit.differences) == (1, [])
    # Nothing is left to settle with the reservation store, which does not know these orders
    assert not Order.objects.exclude(status=OrderStatus.AWAITING_PAYMENT).filter(settled_at=None).exists()
    assert waiting.settled_at is None


def refund_some(order: Order, *, units: int, units_back: bool) -> None:
    (line,) = order.lines.all()
    units_of_line = {line.pk: units}
    refund_part(order, units * 5000, units_of_line=units_of_line, units_back=units_back)


@pytest.mark.parametrize(
    ("part_back", "rest_back", "sold_after_part", "sold_after_rest"),
    [(True, True, 3, 0), (True, False, 3, 3), (False, True, 5, 2), (False, False, 5, 5)],
)
def test_units_that_come_back_with_a_part_of_an_order_are_not_sold_any_more(
    buyer: User, tea: Variant, part_back: bool, rest_back: bool, sold_after_part: int, sold_after_rest: int
) -> None:
    order = held_order(buyer, tea, units=5)
    assert lifecycle.pay(order_id=order.pk)
    refund_some(order, units=2, units_back=part_back)
    assert units_in(tea) == (50 - sold_after_part, 0, sold_after_part)
    # The journal names the order.
    assert StockChange.objects.filter(kind=StockChange.Kind.RETURNED, reference=order.code).exists() == part_back
    assert audit_stock().differences == []
    assert lifecycle.refund(order_id=order.pk, units_back=rest_back)
    assert units_in(tea) == (50 - sold_after_rest, 0, sold_after_rest)
    assert audit_stock().differences == []


def test_the_last_part_of_an_order_leaves_the_units_where_staff_said(buyer: User, tea: Variant) -> None:
    order = held_order(buyer, tea, units=5)
    assert lifecycle.pay(order_id=order.pk)
    refund_some(order, units=2, units_back=False)
    refund_some(order, units=3, units_back=True)
    assert Order.objects.get().status == OrderStatus.REFUND_DUE
    assert units_in(tea)[2] == 2
    assert audit_stock().differences == []
    # As if the units had not come back.
    Variant.objects.update(sold=5)
    (difference,) = audit_stock().differences
    assert str(difference) == "SKU-tea: sold, by counter and orders: 5 and 2"


def test_a_counter_that_was_changed_by_hand_is_found(buyer: User, tea: Variant) -> None:
    held_order(buyer, tea, units=2)
    agrees = "The stock agrees with its journal, the orders and the sales: 1 variant checked.\n"
    assert run_command("stock_audit") == agrees
    right = {"available": 48, "held": 2, "sold": 0}
    for counter, wrong, what in (
        ("available", 7, "available, by counter and journal"),
        ("held", 5, "held, by counter and orders"),
        ("sold", 5, "sold, by counter and orders"),
    ):
        Variant.objects.update(**right | {counter: wrong})
        assert what in {difference.what for difference in audit_stock().differences}
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("stock_audit", stdout=out)
    assert ended.value.code == 1
    assert "SKU-tea: " in out.getvalue()


def test_units_of_a_sale_that_the_journal_does_not_know_are_found(tea: Variant) -> None:
    make_item(tea.product, quantity=10)
    SaleItem.objects.update(quantity=11)
    (difference,) = audit_stock().differences
    assert str(difference) == "SKU-tea: given to sales, by sales and journal: 11 and 10"
