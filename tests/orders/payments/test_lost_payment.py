"""A payment of an ordinary order that PostgreSQL has lost with a backup is made again from the provider's event."""

import json
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from orders import tasks
from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_order
from orders.models import Order, OrderStatus, Payment, PaymentEvent
from orders.payments.simulated import company
from orders.payments.simulated.models import SimulatedMessage
from orders.payments.stripe_checkout import event_from, session_request
from shop.models import Variant
from tests.steps.buying import fill, wish_of
from tests.steps.paying import let_events_wait, payment_of, payment_row, send_webhook
from tests.steps.shop import goods, units_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def variant() -> Variant:
    return goods("cup", units=10)


@pytest.fixture
def order(variant: Variant, buyer: User) -> Order:
    """From a cart, so without a reservation; paid at the company, and PostgreSQL has lost the payment."""
    order = place_order(wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))).order
    assert order is not None
    assert company.pay(reference=payment_of(order).provider_reference)
    Payment.objects.all().delete()
    return order


def test_it_pays_its_order(order: Order, variant: Variant) -> None:
    event = json.loads(SimulatedMessage.objects.get().body)
    assert event["reservation"] is None
    assert send_webhook(event).status_code == 200
    let_events_wait()
    assert tasks.apply_waiting_events() == 1
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    assert Payment.objects.get().order == order
    assert units_in(variant) == (8, 0, 2)


def test_it_waits_while_the_order_is_missing_too(order: Order) -> None:
    event = {**json.loads(SimulatedMessage.objects.get().body), "order": str(uuid4())}
    assert send_webhook(event).status_code == 200
    let_events_wait()
    assert tasks.apply_waiting_events() == 0
    assert str(PaymentEvent.objects.get().order_number) == event["order"]


def test_an_event_of_the_release_before_names_no_order(order: Order) -> None:
    event = json.loads(SimulatedMessage.objects.get().body)
    del event["order"]
    assert send_webhook(event).status_code == 200
    let_events_wait()
    assert tasks.apply_waiting_events() == 0


def test_stripe_s_metadata_names_the_order_too(order: Order) -> None:
    payment = payment_row(order, provider="stripe", provider_reference="cs_1")
    subject = {
        "id": "cs_1",
        "object": "checkout.session",
        "client_reference_id": str(payment.pk),
        "metadata": session_request(payment)["metadata"],
        "amount_total": 2000,
        "currency": "cny",
        "payment_status": "paid",
    }
    message = {"id": "evt_1", "type": "checkout.session.completed", "created": 1, "data": {"object": subject}}
    event = event_from(message)
    assert event is not None
    assert (event.order_number, event.reservation_id) == (order.number, None)
