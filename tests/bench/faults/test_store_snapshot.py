"""What the snapshot says of money: the payment company's records count, whatever the shop has forgotten."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from bench.faults import store_snapshot
from bench.faults.store_snapshot import take_snapshot
from orders.models import Order, OrderLine, Payment, PaymentEvent
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


def test_money_that_went_back_is_known_although_the_shop_has_lost_the_order(order: Order, item: SaleItem) -> None:
    reservation_id = str(order.reservation_id)
    pages = [payment_of(order, "first")]
    assert company.pay(reference=pages[0].provider_reference)
    Payment.objects.all().delete()
    pages.append(payment_of(order, "second"))
    assert company.pay(reference=pages[1].provider_reference)
    Payment.objects.all().delete()
    OrderLine.objects.all().delete()
    for page, given_back in zip(pages, [frozenset(), {reservation_id}], strict=True):
        company.refund(payment_id=page.pk, refund_id=uuid4(), amount_minor=page.amount_minor)
        assert take_snapshot(item_id=item.pk, reservation_ids=[reservation_id]).given_back == given_back


def test_a_message_that_arrives_meanwhile_is_work_that_was_pending(
    order: Order, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert company.pay(reference=payment_of(order).provider_reference)
    read = store_snapshot.sessions_of

    def read_before_it_arrives(reservation_ids: Sequence[UUID]) -> Any:
        sessions = read(reservation_ids)
        SimulatedMessage.objects.update(delivered_at=timezone.now())
        return sessions

    monkeypatch.setattr(store_snapshot, "sessions_of", read_before_it_arrives)
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
    reservation_id = str(payment.order.reservation_id)
    assert not snapshot.listed
    OrderLine.objects.all().delete()
    Order.objects.all().delete()
    assert take_snapshot(item_id=item.pk, reservation_ids=[reservation_id]).listed == {reservation_id}
