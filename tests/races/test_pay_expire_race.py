"""Money that arrives at the instant at which its order expires: one of the two, and never both.

PAY_EXPIRE_RACES says how many orders are raced for; the default keeps `make test` short. Four lanes bring money, two
threads expire what is due, all at once on the real stores. A lane sets its order's deadline a moment ahead and brings
the money a little before it; where the expiry won, it comes earlier next time, where the money won, later. So it stays
at the instant at which either may win. Every tenth order's money is told three times.
"""

import os
import threading
import time
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.db.models import Count, Q
from django.db.models.functions import Now
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from orders.models import Order, OrderStatus, Payment, PaymentEvent
from orders.payments import inbox
from orders.payments.provider.interface import Event, EventKind
from seckill import ledger
from seckill.models import LatePayment, Sale, SaleItem
from shop.models import Product
from tests.steps.at_once import run_and_close
from tests.steps.buying import drained, new_buyers, reserve
from tests.steps.paying import make_due
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

RACES = int(os.environ.get("PAY_EXPIRE_RACES", "100"))
LANES = 4
# Orders that are made at once; there are as many units as orders, so that all late money could be kept.
ROUND = 200
DEADLINE_SECONDS = 0.03
# By so much a lane comes earlier or later after each race.
STEP_SECONDS = 0.001


@pytest.mark.parametrize("policy", [LatePayment.TAKE_AGAIN, LatePayment.REFUND])
def test_money_and_expiry_at_once_have_one_winner(product: Product, policy: str) -> None:
    races = RACES // 2
    item = make_item(product, quantity=races)
    Sale.objects.update(late_payment=policy)
    tally: Counter[str] = Counter()
    for start in range(0, races, ROUND):
        race(make_orders(item, count=min(ROUND, races - start)), tally)
    judge(item, races=races, policy=policy, tally=tally)


def make_orders(item: SaleItem, *, count: int) -> list[Order]:
    people = new_buyers(count)
    for person in people:
        reserve(item, person)
    drained(item)
    orders = list(Order.objects.filter(buyer__in=people).order_by("pk"))
    assert len(orders) == count
    Payment.objects.bulk_create(
        Payment(
            order=order,
            provider="simulated",
            provider_reference=f"race-{order.pk}",
            idempotency_key="key",
            amount_minor=order.amount_minor,
            currency=order.currency,
        )
        for order in orders
    )
    return orders


def race(orders: list[Order], tally: Counter[str]) -> None:
    barrier, over = threading.Barrier(LANES + 2), threading.Event()

    def bring_money(lane: int) -> None:
        barrier.wait(timeout=30)
        lead_seconds = 0.01
        for order in orders[lane::LANES]:
            payment = Payment.objects.get(order=order)
            due = Order.objects.filter(pk=order.pk)
            due.update(expires_at=Now() + timedelta(seconds=DEADLINE_SECONDS))
            deadline_s = time.monotonic() + DEADLINE_SECONDS
            time.sleep(max(0.0, deadline_s - lead_seconds - time.monotonic()))
            applied = inbox.receive(provider_name="simulated", event=captured(payment))
            lead_seconds += STEP_SECONDS if applied is inbox.EventOutcome.LATE else -STEP_SECONDS
            tally[applied] += 1
            if order.pk % 10 == 0:
                tally[inbox.receive(provider_name="simulated", event=captured(payment))] += 1
                tally[inbox.receive(provider_name="simulated", event=captured(payment, "again"))] += 1

    def expire() -> None:
        barrier.wait(timeout=30)
        while not over.is_set():
            lifecycle.expire_overdue(batch_max=5)
            # Leaves the lanes some of the two cores; hundreds of times as often as beat does it, still.
            time.sleep(0.004)

    lanes = [threading.Thread(target=run_and_close(partial(bring_money, lane))) for lane in range(LANES)]
    sweeps = [threading.Thread(target=run_and_close(expire)) for _ in range(2)]
    for thread in lanes + sweeps:
        thread.start()
    for thread in lanes:
        thread.join(timeout=120)
    over.set()
    for thread in sweeps:
        thread.join(timeout=30)


def captured(payment: Payment, event: str = "once") -> Event:
    return Event(
        event_id=f"{event}-{payment.pk}",
        kind=EventKind.CAPTURED,
        payment_id=payment.pk,
        provider_reference=payment.provider_reference,
        reservation_id=None,
        amount_minor=payment.amount_minor,
        currency=payment.currency,
        happened_at=timezone.now(),
    )


def judge(item: SaleItem, *, races: int, policy: str, tally: Counter[str]) -> None:
    come_to_rest()
    statuses = dict(Order.objects.values_list("status").annotate(Count("pk")))
    paid, due = statuses.get(OrderStatus.PAID, 0), statuses.get(OrderStatus.REFUND_DUE, 0)
    print(f"{policy}: {races} races, {dict(tally)}, at rest {statuses}")
    # Every order's money came, so each is paid, or its money goes back; none is expired and keeps money.
    assert (paid + due, tally["paid"] + tally["late"]) == (races, races)
    # Both have won, or it was no race.
    assert min(tally["paid"], tally["late"]) > races // 10
    if policy == LatePayment.REFUND:
        assert (paid, due) == (tally["paid"], tally["late"])
    # Never captured twice, never captured and given back.
    kept = Count("payments", filter=Q(payments__status=Payment.Status.CAPTURED))
    back = Count("payments", filter=Q(payments__status=Payment.Status.REFUND_DUE))
    counted = Order.objects.annotate(kept=kept, back=back)
    assert not counted.exclude(Q(status=OrderStatus.PAID, kept=1, back=0) | Q(status="refund_due", kept=0, back=1))
    assert not PaymentEvent.objects.filter(applied_at=None).exists()
    # Both stores know what was sold.
    counters = ledger.read(item_id=item.pk)
    item.refresh_from_db()
    assert counters is not None
    assert (counters.left, counters.held, counters.sold, item.taken) == (races - paid, 0, paid, paid)


def come_to_rest() -> None:
    make_due(Payment)
    while tasks.apply_waiting_events() + tasks.settle_orders():
        pass
