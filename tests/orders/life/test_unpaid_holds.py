"""A buyer who lets holds of an item end unpaid again and again gets no pass for it for a while."""

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client, RequestFactory
from django.utils import timezone

from orders import tasks
from orders.life import cancelling
from orders.models import Order
from orders.payments import sessions
from orders.payments.provider.call_bound import TooManyCalls, web_calls
from orders.payments.provider.interface import ProviderUnreachable
from orders.payments.simulated.adapter import SimulatedProvider
from seckill.models import SaleItem
from seckill.passes import unpaid_holds
from tests.steps.buying import order_of
from tests.steps.guarding import ask_pass
from tests.steps.paying import payment_row
from tests.steps.shop import other_item

pytestmark = pytest.mark.django_db(transaction=True)

OFTEN = 3
LATE = timedelta(seconds=30)


def time_passes(order: Order, *, share: float = 1.0) -> None:
    """So much of the order's hold is over."""
    back = (order.expires_at - order.reserved_at) * share
    columns = ("reserved_at", "created_at", "expires_at")
    Order.objects.filter(pk=order.pk).update(**{name: F(name) - back for name in columns})


def ends_unpaid(order: Order) -> None:
    time_passes(order)
    assert tasks.expire_overdue() == 1


def let_expire(item: SaleItem, buyer: User, *, times: int = OFTEN) -> None:
    for _ in range(times):
        ends_unpaid(order_of(item, buyer))


def provider_away() -> Any:
    return mock.patch.object(SimulatedProvider, "open_session", side_effect=ProviderUnreachable("away"))


def press_pay(order: Order) -> None:
    """No page comes."""
    with pytest.raises(ProviderUnreachable):
        sessions.start(order_id=order.pk, idempotency_key="key")


def cancel_after(item: SaleItem, buyer: User, share: float) -> None:
    order = order_of(item, buyer)
    time_passes(order, share=share)
    order.refresh_from_db()
    assert cancelling.cancel(order=order, request=RequestFactory().post("/")).outcome == "cancelled"


def test_a_buyer_who_lets_holds_expire_again_and_again_gets_no_pass(
    item: SaleItem, buyer: User, rival: User, as_buyer: Client
) -> None:
    let_expire(item, buyer, times=OFTEN - 1)
    assert ask_pass(item, buyer).status_code == 201
    let_expire(item, buyer, times=1)
    answer = ask_pass(item, buyer)
    assert (answer.status_code, answer.json()["code"]) == (409, "unpaid_too_often")
    assert 86_000 < int(answer["Retry-After"]) <= 86_400
    assert "You can reserve it again in 24 hours" in answer.json()["detail"]
    page = as_buyer.get(f"/sale-items/{item.pk}/reserve/")
    assert (page.status_code, int(page["Retry-After"]) > 86_000) == (409, True)
    assert "You can reserve it again in 24 hours" in page.content.decode()
    # Other buyers and other items are not meant.
    assert [ask_pass(other_item(), buyer).status_code, ask_pass(item, rival).status_code] == [201, 201]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_worker_whose_clock_is_off_counts_holds_for_as_long_as_they_lasted(
    item: SaleItem, buyer: User, hours: int
) -> None:
    with mock.patch.object(timezone, "now", return_value=timezone.now() + timedelta(hours=hours)):
        let_expire(item, buyer)
    assert ask_pass(item, buyer).status_code == 409


def test_the_time_that_was_held_counts_and_not_how_it_ended(item: SaleItem, buyer: User) -> None:
    """Else a cancel in the last minute would hold the units as long, and cost nothing."""
    for _ in range(3):
        cancel_after(item, buyer, 0.95)
    assert ask_pass(item, buyer).status_code == 201
    cancel_after(item, buyer, 0.95)
    assert ask_pass(item, buyer).status_code == 409


def test_short_holds_add_up(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    settings.UNPAID_HOLD_LIMIT = "1/day"
    settings.CANCEL_LIMIT = "100/minute"
    for _ in range(11):
        cancel_after(item, buyer, 0.09)
    assert ask_pass(item, buyer).status_code == 201
    cancel_after(item, buyer, 0.09)
    assert ask_pass(item, buyer).status_code == 409


def test_a_hold_that_seems_to_end_before_it_began_gives_no_credit(buyer: User, settings: LazySettings) -> None:
    settings.UNPAID_HOLD_LIMIT = "1/10minutes"
    for share in (-5.0, 1.0):
        unpaid_holds.note(item_id=1, buyer_id=buyer.pk, share=share)
    with pytest.raises(unpaid_holds.HoldsUnpaid) as refused:
        unpaid_holds.check(item_id=1, buyer_id=buyer.pk)
    assert 590 < refused.value.retry_after_seconds <= 600


@pytest.mark.parametrize(
    "late",
    [
        pytest.param({"expires_at": F("expires_at") - LATE}, id="the worker was away at the deadline"),
        pytest.param({"created_at": F("created_at") + LATE}, id="the order was written late"),
    ],
)
def test_holds_that_ended_while_our_servers_were_away_do_not_count(
    item: SaleItem, buyer: User, late: dict[str, Any], settings: LazySettings
) -> None:
    settings.UNPAID_HOLD_LIMIT = "1/day"
    time_passes(order_of(item, buyer))
    Order.objects.update(**late)
    assert tasks.expire_overdue() == 1
    assert ask_pass(item, buyer).status_code == 201


def test_a_hold_whose_payment_page_never_came_does_not_count(
    item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    settings.UNPAID_HOLD_LIMIT = "1/day"
    order = order_of(item, buyer)
    with provider_away():
        press_pay(order)
    ends_unpaid(order)
    assert ask_pass(item, buyer).status_code == 201


def test_a_buyer_who_cancels_while_the_payment_page_is_on_its_way_is_not_let_off(
    item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    settings.UNPAID_HOLD_LIMIT = "1/day"
    order = order_of(item, buyer)
    payment_row(order, url="")
    ends_unpaid(order)
    assert ask_pass(item, buyer).status_code == 409


def test_a_page_that_came_at_the_second_press_counts_and_one_that_was_not_asked_for_too(
    item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    settings.UNPAID_HOLD_LIMIT = "2/day"
    second = order_of(item, buyer)
    with provider_away():
        press_pay(second)
    assert sessions.start(order_id=second.pk, idempotency_key="key").outcome == "already_open"
    ends_unpaid(second)
    unasked = order_of(item, buyer)
    with mock.patch.object(web_calls, "one_call", side_effect=TooManyCalls):
        press_pay(unasked)
    ends_unpaid(unasked)
    assert ask_pass(item, buyer).status_code == 409
