"""A refund that is reported before its capture waits for it: no order is paid with money that has gone back."""

import time
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import F
from structlog.testing import capture_logs

from orders import tasks
from orders.models import Attention, Order, OrderStatus, Payment, PaymentEvent, Refund
from orders.payments import inbox
from orders.payments.inbox import EventOutcome
from seckill.models import SaleItem
from tests.steps.at_once import at_once
from tests.steps.buying import let_deadlines_pass
from tests.steps.crash import killed_at
from tests.steps.paying import message, payment_of, send_webhook

pytestmark = pytest.mark.django_db(transaction=True)


def tell(*events: dict[str, Any]) -> None:
    for event in events:
        assert send_webhook(event).status_code == 200


def outcomes() -> list[str]:
    return list(PaymentEvent.objects.order_by("received_at").values_list("outcome", flat=True))


def money_of(order: Order) -> tuple[str, int, list[str]]:
    """The order's status, what went back of it, and the statuses of its payments."""
    order.refresh_from_db()
    return order.status, order.refunded_minor, list(order.payments.values_list("status", flat=True))


def test_a_part_and_one_refund_wait_too_and_each_counts_once(order: Order, payment: Payment) -> None:
    part = message(payment, "refunded_so_far", amount_minor=500)
    ours = message(payment, "refund_paid", amount_minor=300, refund=str(uuid4()))
    tell(part, part, ours, ours)
    assert PaymentEvent.objects.filter(applied_at=None).count() == 2
    # A repeated message is applied without waiting for the sweep.
    tell(message(payment), part)
    assert money_of(order) == (OrderStatus.PAID, 500, [Payment.Status.CAPTURED])
    assert tasks.apply_waiting_events() == 1
    tell(part, ours)
    assert money_of(order) == (OrderStatus.PAID, 800, [Payment.Status.CAPTURED])
    assert tasks.apply_waiting_events() == 0


def test_a_late_payment_that_has_gone_back_is_no_purchase(order: Order, payment: Payment, item: SaleItem) -> None:
    tell(message(payment, "refunded"))
    let_deadlines_pass()
    tasks.expire_overdue()
    tell(message(payment))
    tasks.apply_waiting_events()
    assert money_of(order)[0] == OrderStatus.REFUNDED


def test_a_wrong_amount_that_has_gone_back_is_not_refunded_again(order: Order, payment: Payment) -> None:
    tell(message(payment, "refunded", amount_minor=1), message(payment, amount_minor=1))
    tasks.apply_waiting_events()
    assert Refund.objects.get().status == Refund.Status.REFUNDED
    assert money_of(order) == (OrderStatus.AWAITING_PAYMENT, 0, [Payment.Status.REFUNDED])


def test_capture_refund_and_sweeps_at_once_end_as_one_refund(order: Order, payment: Payment) -> None:
    back, captured = message(payment, "refunded"), message(payment)
    calls = [lambda: tell(back), lambda: tell(captured), tasks.apply_waiting_events]
    at_once(calls * 4)
    tasks.apply_waiting_events()
    assert money_of(order) == (OrderStatus.REFUNDED, order.amount_minor, [Payment.Status.REFUNDED])
    assert Refund.objects.count() == 1


@pytest.mark.parametrize("place", ["payments.before_commit", "payments.after_commit"])
def test_after_a_kill_in_the_capture_the_refund_is_still_applied(order: Order, payment: Payment, place: str) -> None:
    back, captured = message(payment, "refunded"), message(payment)
    tell(back)
    with killed_at(place):
        send_webhook(captured)
    tell(captured)
    tasks.apply_waiting_events()
    assert money_of(order)[0] == OrderStatus.REFUNDED


def test_events_that_wait_do_not_keep_others_from_a_batch(order: Order, payment: Payment) -> None:
    """Neither refunds without a capture, nor an event that names the page of another payment."""
    tell(*[message(payment, "refunded_so_far", amount_minor=number) for number in range(1, 4)])
    tell({**message(payment), "payment": str(uuid4())})
    PaymentEvent.objects.update(received_at=F("received_at") - inbox.LOST_AFTER)
    Payment.objects.filter(pk=payment.pk).update(status=Payment.Status.FAILED)
    other = payment_of(order, key="other")
    captured = message(other)
    Payment.objects.filter(pk=other.pk).delete()
    tell(captured)
    other.save(force_insert=True)
    assert inbox.apply_waiting(batch_max=1) == 1
    assert PaymentEvent.objects.get(event_id=captured["id"]).outcome == EventOutcome.PAID


def test_an_event_that_raises_stops_no_other_and_is_tried_again_later(
    order: Order, payment: Payment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that nobody has thought of: the first of two raises each time, whatever the second is."""
    tell(*[message(payment, "refunded_so_far", amount_minor=number) for number in (1, 2)])
    first = PaymentEvent.objects.order_by("received_at")[0].pk
    apply_event = inbox.apply_event

    def apply_all_but_the_first(row: PaymentEvent) -> EventOutcome:
        if row.pk == first:
            raise ValueError("an amount that breaks it")
        return apply_event(row)

    tell(message(payment))
    monkeypatch.setattr(inbox, "apply_event", apply_all_but_the_first)
    with capture_logs() as logs:
        assert inbox.apply_waiting(batch_max=1) == 0
        assert inbox.apply_waiting(batch_max=1) == 1
        assert inbox.apply_waiting(batch_max=1) == 0
    assert [line["event_pk"] for line in logs if line["event"] == "payment_event_not_applied"] == [first]
    assert money_of(order) == (OrderStatus.PAID, 2, [Payment.Status.CAPTURED])
    monkeypatch.undo()
    monkeypatch.setattr(inbox, "_try_again_s", {first: time.monotonic()})
    assert inbox.apply_waiting() == 1
    assert PaymentEvent.objects.filter(applied_at=None).count() == 0


def test_a_refund_without_a_capture_is_given_to_staff_after_an_hour(order: Order, payment: Payment) -> None:
    """It waits no more, but a capture that comes after all makes it count."""
    tell(message(payment, "refunded"))
    PaymentEvent.objects.update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    assert tasks.apply_waiting_events() == 1
    order.refresh_from_db()
    assert (order.status, order.attention) == (OrderStatus.AWAITING_PAYMENT, Attention.REFUND_WITHOUT_PAYMENT)
    assert outcomes() == ["no_capture"]
    assert tasks.apply_waiting_events() == 0
    tell(message(payment))
    assert tasks.apply_waiting_events() == 1
    assert money_of(order)[0] == OrderStatus.REFUNDED
    assert order.attention == ""
