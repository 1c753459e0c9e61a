"""The end of a sale is that of its waiting list: everybody in it is told once, and nothing is handed on any more."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail as django_mail
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from orders.mails import line_mails
from orders.models import LineMail
from seckill.line.waiting_list import sweep_lines
from seckill.models import SaleChange, SaleItem
from shop.models import Product
from tests.steps.buying import new_buyers, order_of
from tests.steps.shop import make_item
from tests.steps.staff import change
from tests.steps.store import left_held_sold
from tests.steps.waiting import join, status, waiting

pytestmark = pytest.mark.django_db(transaction=True)

Kind = SaleChange.Kind


@pytest.fixture
def item(product: Product, buyer: User, rival: User) -> SaleItem:
    """One unit, which the buyer holds, and a waiting list."""
    item = make_item(product, quantity=1, waiting_list=True)
    sweep_lines()
    order_of(item, buyer)
    User.objects.filter(pk=rival.pk).update(email="rival@example.com")
    return item


def test_everybody_in_line_is_told_once_at_the_end(item: SaleItem, rival: User, stranger: User) -> None:
    place = join(item, rival)
    # Accounts without an address and blocked accounts are told nothing by mail.
    join(item, stranger)
    (blocked,) = new_buyers(1)
    join(item, blocked)
    User.objects.filter(pk=blocked.pk).update(email="blocked@example.com", is_active=False)
    assert tasks.hand_on_units() == 0
    change(item, Kind.END_NOW)
    assert tasks.hand_on_units() == 1
    assert tasks.hand_on_units() == 0
    found = status(rival, place)
    assert (found["status"], found["poll_after_ms"]) == ("line_ended", None)
    assert "no units came back" in str(found["note"])
    assert tasks.send_mails() == 1
    [message] = django_mail.outbox
    assert message.to == ["rival@example.com"]
    assert "Nothing came back: Longjing tea" in str(message.subject)
    assert "no units came back for you" in str(message.body)
    assert tasks.send_mails() == 0


def test_units_that_come_back_after_the_end_go_to_the_stock(item: SaleItem, buyer: User, rival: User) -> None:
    place = join(item, rival)
    change(item, Kind.END_NOW)
    lifecycle.cancel(order_id=buyer.orders.get().pk)
    sweep_lines()
    assert left_held_sold(item) == (1, 0, 0)
    assert status(rival, place)["status"] == "line_ended"


def test_mails_about_an_end_that_staff_moved_away_are_sent_at_the_real_end(
    item: SaleItem, buyer: User, rival: User, stranger: User
) -> None:
    # Given a sale that has ended and whose mails still wait
    User.objects.filter(pk=stranger.pk).update(email="stranger@example.com")
    place = join(item, rival)
    join(item, stranger)
    change(item, Kind.END_NOW)
    assert tasks.hand_on_units() == 2
    # When staff open it again, and the first in line gets the units
    change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(hours=1))
    assert status(rival, place)["status"] == "waiting"
    lifecycle.cancel(order_id=buyer.orders.get().pk)
    tasks.drain_outbox(item_id=item.pk)
    # Then the mail about the units is the only one
    tasks.send_mails()
    assert mailed() == [("rival@example.com", "Your units are here: 1 × Longjing tea")]
    # And at the real end only the other one is told that nothing came back
    change(item, Kind.END_NOW)
    assert tasks.hand_on_units() == 1
    tasks.send_mails()
    assert mailed()[1:] == [("stranger@example.com", "Nothing came back: Longjing tea")]


def test_a_buyer_whose_units_came_before_the_mails_left_is_not_told_that_none_came(
    item: SaleItem, buyer: User, rival: User
) -> None:
    join(item, rival)
    change(item, Kind.END_NOW)
    assert tasks.hand_on_units() == 1
    change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(hours=1))
    lifecycle.cancel(order_id=buyer.orders.get().pk)
    tasks.drain_outbox(item_id=item.pk)
    change(item, Kind.END_NOW)
    tasks.hand_on_units()
    tasks.send_mails()
    assert mailed() == [("rival@example.com", "Your units are here: 1 × Longjing tea")]


def mailed() -> list[tuple[str, str]]:
    return [(message.to[0], str(message.subject)) for message in django_mail.outbox]


def test_a_crash_while_they_are_told_tells_the_rest_later_and_nobody_twice(item: SaleItem) -> None:
    people = new_buyers(8)
    User.objects.filter(pk__in=[person.pk for person in people]).update(email="someone@example.com")
    for person in people:
        join(item, person)
    change(item, Kind.END_NOW)
    line_mails.enqueue(item_id=item.pk, buyer_ids=[person.pk for person in people[:3]])
    assert tasks.hand_on_units() == 5
    assert LineMail.objects.filter(item=item).count() == 8
    item.refresh_from_db()
    assert item.line_ended_at is not None


def test_units_for_a_blocked_account_go_to_the_next(item: SaleItem, buyer: User, rival: User, stranger: User) -> None:
    join(item, rival)
    place = join(item, stranger)
    User.objects.filter(pk=rival.pk).update(is_active=False)
    lifecycle.cancel(order_id=buyer.orders.get().pk)
    tasks.drain_outbox(item_id=item.pk)
    tasks.settle_orders()
    tasks.drain_outbox(item_id=item.pk)
    assert status(stranger, place)["status"] == "awaiting_payment"
    assert waiting(item) == 0
