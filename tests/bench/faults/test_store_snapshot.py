"""What the snapshot says of money: the payment company's records count, whatever the shop has forgotten."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from bench.faults import store_snapshot
from bench.faults.store_snapshot import take_snapshot
from orders.models import Order, Payment, PaymentEvent
from orders.payments.simulated import company
from orders.payments.simulated.models import SimulatedMessage
from seckill.models import SaleItem
from tests.steps.buying import order_of
from tests.steps.paying import message, payment_of, send_webhook

pytestmark = pytest.mark.django_db(transaction=True)


def test_money_that_was_taken_counts_although_the_shop_has_lost_the_payment(order: Order, item: SaleItem) -> None:
    for key in ("first", "second"):
        payment = payment_of(order, key)
        assert company.pay(reference=payment.provider_reference)
        Payment.objects.all().delete()
    snapshot = take_snapshot(item_id=item.pk, reservation_ids=[])
    assert [row.captures for row in snapshot.orders] == [2]
    assert snapshot.waiting == 2


def test_a_message_that_arrives_meanwhile_is_work_that_was_pending(
    order: Order, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert company.pay(reference=payment_of(order).provider_reference)
    read = store_snapshot.payments_of

    def read_before_it_arrives(item_id: int) -> list[Payment]:
        payments = read(item_id)
        SimulatedMessage.objects.update(delivered_at=timezone.now())
        return payments

    monkeypatch.setattr(store_snapshot, "payments_of", read_before_it_arrives)
    assert take_snapshot(item_id=item.pk, reservation_ids=[]).waiting == 1


def test_an_event_that_waits_for_a_lost_payment_is_work_that_is_pending(item: SaleItem, buyer: User) -> None:
    payment = payment_of(order_of(item, buyer))
    captured = message(payment)
    Payment.objects.all().delete()
    assert send_webhook(captured).status_code == 200
    assert PaymentEvent.objects.get().applied_at is None
    snapshot = take_snapshot(item_id=item.pk, reservation_ids=[])
    assert snapshot.waiting == 1
    assert any("payment events" in pending for pending in snapshot.pending_work())
