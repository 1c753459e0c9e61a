"""The admin stays fast with many rows: an action changes a bounded number of them, and says so."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.mails import sending
from orders.models import Attention, Mail, Order, OrderStatus
from orders.staff import bounded_choice
from seckill.models import SaleItem
from tests.steps.buying import make_orders
from tests.steps.operating import figure_at
from tests.steps.staff import LOOK_AT, MAILS, ORDERS, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")
# In place of a hundred.
LISTED_MAX = 4
MANY = LISTED_MAX + 3


@pytest.fixture(autouse=True)
def _few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_choice, "LISTED_MAX", LISTED_MAX)


def all_rows(action: str, order: Any, **more: str) -> dict[str, Any]:
    """An action for the rows of all pages."""
    return {"action": action, "_selected_action": [order.pk], "select_across": "1", **more}


def test_an_action_changes_a_bounded_number_of_rows_and_says_so(client: Client, buyer: User, item: SaleItem) -> None:
    # Given more paid orders than an action takes, and one that is first in the list and cannot be shipped
    make_orders(1, buyer=buyer, item=item, status=OrderStatus.COMPLETED)
    orders = make_orders(MANY, buyer=buyer, item=item)
    # When staff ship all of them
    chosen = all_rows("ship_orders", orders[0]) | {"confirmed": "yes"}
    response = client.post(ORDERS, chosen)
    # Then four are shipped, and staff read that three are left
    assert messages_on(response) == [
        "4 orders are marked as shipped.",
        "An action changes at most 4 rows at a time. It can still change 3 of the selected rows: run it again for "
        "them.",
    ]
    assert Order.objects.filter(status=OrderStatus.SHIPPED).count() == LISTED_MAX
    # And the second time the rest
    assert messages_on(client.post(ORDERS, all_rows("ship_orders", orders[0]) | {"confirmed": "yes"}))[0] == (
        "3 orders are marked as shipped."
    )
    assert not Order.objects.filter(status=OrderStatus.PAID).exists()


def test_staff_confirm_the_orders_that_the_page_lists(client: Client, buyer: User, item: SaleItem) -> None:
    orders = make_orders(MANY, buyer=buyer, item=item, status=OrderStatus.AWAITING_PAYMENT)
    for action in ("cancel_orders", "record_payment", "refund_orders"):
        if action == "refund_orders":
            Order.objects.update(status=OrderStatus.PAID, ended_at=timezone.now())
        page = client.post(ORDERS, all_rows(action, orders[0])).content.decode()
        assert "It can still change 3 of the selected rows" in page, action
        assert page.count('name="_selected_action"') == LISTED_MAX, action
        assert 'name="select_across"' not in page, action


def test_resolving_and_sending_again_are_bounded_too(client: Client, buyer: User, item: SaleItem) -> None:
    orders = make_orders(MANY, buyer=buyer, item=item)
    Order.objects.update(attention=Attention.REFUND_FAILS)
    client.post(LOOK_AT, all_rows("mark_resolved", orders[0]))
    assert Order.objects.filter(attention="").count() == LISTED_MAX
    sending.enqueue(order_ids=[order.pk for order in orders], kind=Mail.Kind.PAID)
    Mail.objects.update(next_attempt_at=None, last_error="refused")
    response = client.post(MAILS, all_rows("send_again", Mail.objects.earliest("pk")))
    assert "It can still change 3 of the selected rows" in messages_on(response)[-1]
    assert Mail.objects.filter(next_attempt_at__isnull=False).count() == LISTED_MAX


@pytest.mark.django_db(transaction=True)
def test_the_metric_of_unsent_mails_returns_to_0_when_none_is_left_to_send(
    client: Client, buyer: User, item: SaleItem
) -> None:
    orders = make_orders(2, buyer=buyer, item=item)
    sending.enqueue(order_ids=[order.pk for order in orders], kind=Mail.Kind.PAID)
    assert figure_at(client, "stampede_mails_unsent") == 2
    # One has no address to go to, the other was refused too often.
    refused = Mail.objects.earliest("pk")
    sending.update_mail(refused, next_attempt_at=None, last_error="550 no such user")
    assert figure_at(client, "stampede_mails_unsent") == 1
    Mail.objects.exclude(pk=refused.pk).update(next_attempt_at=None, last_error=sending.NO_ADDRESS)
    assert figure_at(client, "stampede_mails_unsent") == 0
