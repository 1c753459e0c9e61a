"""Events of payments that the shop does not know: each comes to an end, and they slow nothing down."""

import pytest
from django.db.models import F
from django.test import Client

from orders import tasks
from orders.models import Order, OrderStatus, Payment, PaymentEvent
from orders.payments import inbox
from orders.payments.inbox import EventOutcome
from tests.steps.paying import event_of_another_shop, message, send_webhook
from tests.steps.staff import EVENTS, messages_on

pytestmark = pytest.mark.django_db(transaction=True)


def outcome_of(event: PaymentEvent) -> str:
    event.refresh_from_db()
    return event.outcome if event.applied_at else EventOutcome.WAITING


def mark(manager: Client, *events: PaymentEvent) -> list[str]:
    sent = {"action": "mark_dealt_with", "_selected_action": [event.pk for event in events]}
    return messages_on(manager.post(EVENTS, sent))


@pytest.mark.parametrize("kind", ["declined", "expired"])
def test_the_end_of_an_unknown_page_is_put_away_after_an_hour(kind: str) -> None:
    event = event_of_another_shop(kind)
    assert tasks.apply_waiting_events() == 0
    PaymentEvent.objects.update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    assert tasks.apply_waiting_events() == 1
    assert outcome_of(event) == EventOutcome.NOTHING


def test_money_of_an_unknown_payment_waits_until_staff_have_dealt_with_it(as_manager: Client) -> None:
    event = event_of_another_shop(hours_ago=2)
    assert tasks.apply_waiting_events() == 0
    assert mark(as_manager, event) == ["1 event is dealt with."]
    assert outcome_of(event) == EventOutcome.DEALT_WITH
    page = f"{EVENTS}{event.pk}/"
    assert "dealt with by staff" in as_manager.get(f"{page}change/").content.decode()
    history = as_manager.get(f"{page}history/").content.decode()
    assert "Marked as dealt with." in history
    assert "manager" in history
    assert mark(as_manager, event)[0] == "0 events are dealt with."


def test_a_refund_of_money_that_staff_have_dealt_with_waits_no_more(as_manager: Client) -> None:
    """The runbook says: refund it at the company, whose event of that comes too."""
    paid = event_of_another_shop(hours_ago=2)
    refund = event_of_another_shop("refunded", payment_id=paid.payment_id)
    of_another = event_of_another_shop("refunded", hours_ago=2)
    assert tasks.apply_waiting_events() == 0
    mark(as_manager, paid)
    assert tasks.apply_waiting_events() == 1
    assert (outcome_of(refund), outcome_of(of_another)) == (EventOutcome.NOTHING, EventOutcome.WAITING)


def test_events_that_the_shop_may_still_apply_cannot_be_marked(
    as_manager: Client, order: Order, payment: Payment
) -> None:
    # Given one that has just come, a refund that waits for its capture, and money whose payment the shop has lost
    new = event_of_another_shop()
    send_webhook(message(payment, "refunded"))
    early = PaymentEvent.objects.get(payment_id=payment.pk)
    lost = event_of_another_shop(hours_ago=2, reservation_id=order.reservation_id)
    assert mark(as_manager, new, early, lost) == [
        "0 events are dealt with.",
        "Only events of unknown payments that have waited for an hour can be marked.",
    ]
    assert tasks.apply_waiting_events() == 1
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID


def test_events_that_wait_for_something_else_slow_no_waiting_room_down(order: Order, payment: Payment) -> None:
    for kind in ("captured", "expired", "refunded"):
        event_of_another_shop(kind)
    assert inbox.backlog() == 0
    PaymentEvent.objects.update(payment_id=payment.pk, received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    assert inbox.backlog() == 3
