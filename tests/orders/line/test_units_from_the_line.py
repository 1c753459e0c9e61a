"""Units that come back go to the first in line whom they are enough for, as a hold of their own with a mail."""

import pytest
from django.contrib.auth.models import User

from orders import tasks
from orders.life import intake, lifecycle
from orders.mails.message import message_of
from orders.models import Mail, Order, OrderStatus
from seckill.line import line_ledger
from seckill.line.waiting_list import sweep_lines
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.models import Product
from tests.steps.buying import let_deadlines_pass, new_buyers, order_of, signed_in, told, with_address
from tests.steps.shop import make_item
from tests.steps.staff import change
from tests.steps.store import left_held_sold
from tests.steps.waiting import join, join_by_api, status, waiting

pytestmark = pytest.mark.django_db(transaction=True)

Kind = SaleChange.Kind


@pytest.fixture
def item(product: Product) -> SaleItem:
    """One unit, and a waiting list."""
    item = make_item(product, quantity=1, per_buyer_max=3, waiting_list=True)
    sweep_lines()
    return item


def test_the_first_in_line_gets_the_units_of_an_order_that_is_cancelled(
    item: SaleItem, buyer: User, rival: User, stranger: User
) -> None:
    User.objects.filter(pk=rival.pk).update(email="rival@example.com")
    order = order_of(item, buyer)
    refused = join_by_api(item, rival)
    assert refused.status_code == 201
    assert (refused.json()["place"], refused.json()["ahead"]) == (1, 0)
    assert join_by_api(item, stranger).json()["ahead"] == 1
    reservation_id = refused.json()["id"]
    assert status(rival, reservation_id)["status"] == "waiting"

    assert lifecycle.cancel(order_id=order.pk)

    assert left_held_sold(item) == (0, 1, 0)
    assert status(rival, reservation_id)["status"] == "reserved"
    assert told(item, buyer) == Outcome.HELD_BY_OTHERS
    assert intake.drain_once(item_id=item.pk) == 1
    given = Order.objects.get(reservation_id=reservation_id)
    assert (given.buyer, given.status) == (rival, OrderStatus.AWAITING_PAYMENT)
    assert status(rival, reservation_id)["order"] == str(given.number)
    [mail] = given.mails.all()
    message = message_of(mail)
    assert mail.kind == Mail.Kind.FROM_LINE
    assert message is not None
    assert "They are yours until" in str(message.body)
    assert waiting(item) == 1


def test_units_that_are_not_paid_go_to_the_next_in_line(
    item: SaleItem, buyer: User, rival: User, stranger: User
) -> None:
    order_of(item, buyer)
    first, second = join(item, rival), join(item, stranger)
    for reservation_id, person in ((first, rival), (second, stranger)):
        let_deadlines_pass()
        assert tasks.expire_overdue() == 1
        assert tasks.drain_outbox(item_id=item.pk) == 1
        assert Order.objects.get(reservation_id=reservation_id).buyer == person
    let_deadlines_pass()
    tasks.expire_overdue()
    assert left_held_sold(item) == (1, 0, 0)
    assert told(item, buyer) == Outcome.RESERVED


def test_units_go_to_the_first_whom_they_are_enough_for(
    product: Product, buyer: User, rival: User, stranger: User
) -> None:
    item = make_item(product, quantity=2, per_buyer_max=3, waiting_list=True)
    sweep_lines()
    one, other = order_of(item, buyer), order_of(item, buyer)
    wants_two, wants_one = join(item, rival, units=2), join(item, stranger)
    lifecycle.cancel(order_id=one.pk)
    assert status(rival, wants_two)["status"] == "waiting"
    assert status(stranger, wants_one)["status"] == "reserved"
    lifecycle.cancel(order_id=other.pk)
    # One unit is left, for which nobody waits: so a newcomer may have it.
    assert left_held_sold(item) == (1, 1, 0)
    assert told(item, buyer, units=1) == Outcome.RESERVED


def test_added_units_go_to_the_line_in_the_atom_and_the_sweep_hands_on_the_rest(item: SaleItem, buyer: User) -> None:
    order_of(item, buyer)
    people = new_buyers(25)
    for person in people:
        join(item, person)
    change(item, Kind.ADD_UNITS, units=27)
    assert left_held_sold(item) == (27 - line_ledger.PEOPLE_MAX, 1 + line_ledger.PEOPLE_MAX, 0)
    assert told(item, buyer) == Outcome.HELD_BY_OTHERS
    assert sweep_lines() == 2
    assert left_held_sold(item) == (2, 26, 0)
    assert waiting(item) == 0
    assert told(item, buyer) == Outcome.RESERVED


def test_after_the_limit_was_lowered_a_place_gets_as_many_units_as_it_allows(
    product: Product, buyer: User, rival: User
) -> None:
    item = make_item(product, quantity=2, per_buyer_max=2, waiting_list=True)
    sweep_lines()
    order = order_of(item, buyer, units=2)
    with_address(rival)
    place = join(item, rival, units=2)
    change(item, Kind.UNITS_PER_BUYER, units=1)
    lifecycle.cancel(order_id=order.pk)
    assert (status(rival, place)["status"], status(rival, place)["units"]) == ("reserved", 1)
    assert intake.drain_once(item_id=item.pk) == 1
    given = Order.objects.get(reservation_id=place)
    assert [line.units for line in given.lines.all()] == [1]
    message = message_of(given.mails.get())
    assert message is not None
    assert "1 × CN¥" in str(message.body)
    assert (left_held_sold(item), waiting(item)) == ((1, 1, 0), 0)


def test_a_pause_stops_handing_on_and_resuming_goes_on(item: SaleItem, buyer: User, rival: User) -> None:
    order = order_of(item, buyer)
    place = join(item, rival)
    change(item, Kind.PAUSE)
    lifecycle.cancel(order_id=order.pk)
    sweep_lines()
    assert left_held_sold(item) == (1, 0, 0)
    assert status(rival, place)["status"] == "waiting"
    change(item, Kind.RESUME)
    assert status(rival, place)["status"] == "reserved"


def test_a_place_is_given_up_once(item: SaleItem, buyer: User, rival: User) -> None:
    order = order_of(item, buyer)
    place = join(item, rival)
    path = f"/api/v1/reservations/{place}/"

    assert signed_in(buyer).delete(path).status_code == 404
    assert signed_in(rival).delete(path).status_code == 204
    assert signed_in(rival).delete(path).status_code == 404
    lifecycle.cancel(order_id=order.pk)
    assert left_held_sold(item) == (1, 0, 0)
