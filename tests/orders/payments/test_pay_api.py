"""Paying and cancelling over the API: idempotent, for the owner only, with a reason where it is refused."""

import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from orders import tasks
from orders.life import lifecycle
from orders.models import IdempotentCall, Order, OrderStatus, Payment
from orders.payments import provider_choice, sessions
from orders.payments.provider import call_bound
from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable
from orders.payments.provider.timing import SWEEP_SECONDS
from orders.payments.simulated.models import SimulatedSession
from orders.repair.audit import audit
from seckill.items import loop
from seckill.models import SaleItem
from tests.own_store import silent_server
from tests.steps.at_once import at_once, run_and_close
from tests.steps.buying import let_deadlines_pass, order_of, signed_in, status_of
from tests.steps.paying import make_due, message, payment_of, press_cancel, press_pay, send_webhook
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)


def provider_that(**behaviour: Any) -> Any:
    return mock.patch.multiple(provider_choice.provider_named("simulated").__class__, **behaviour)


def test_paying_opens_a_page_and_gives_the_same_one_again(order: Order, buyer: User) -> None:
    first = press_pay(signed_in(buyer), order.number)
    assert first.status_code == 201
    payment = Payment.objects.get()
    assert first.json()["payment"] == str(payment.pk)
    assert first.json()["status"] == "pending"
    assert first.json()["url"] == f"http://testserver/pay/simulated/{payment.provider_reference}/"
    for key in ("key", "another"):
        again = press_pay(signed_in(buyer), order.number, key)
        assert (again.status_code, again.json()) == (200, first.json())
        assert again["Idempotent-Replayed"] == "true"
    assert SimulatedSession.objects.count() == Payment.objects.count() == 1


def test_only_calls_that_change_something_keep_their_keys(order: Order, buyer: User) -> None:
    for press in (press_pay, press_cancel):
        for key in ("first", "second", "second"):
            assert press(signed_in(buyer), order.number, key).status_code < 300
        again = press(signed_in(buyer), order.number, "third")
        assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert list(IdempotentCall.objects.values_list("key", flat=True)) == ["first", "first"]


def test_twenty_presses_at_once_make_one_payment_and_one_session(order: Order, buyer: User) -> None:
    keys = [f"key-{number % 4}" for number in range(20)]
    answers = at_once([partial(press_pay, signed_in(buyer), order.number, key) for key in keys])
    # Five share a key: while the first of them is answered, the others may be told that it is still running.
    running = [answer for answer in answers if answer.status_code == 409]
    assert {answer.json()["code"] for answer in running} <= {"idempotency_key_running"}
    opened = [answer for answer in answers if answer.status_code != 409]
    assert len(opened) >= 4
    assert sorted(answer.status_code for answer in opened) == [200] * (len(opened) - 1) + [201]
    assert len({(answer.json()["payment"], answer.json()["url"]) for answer in opened}) == 1
    assert SimulatedSession.objects.count() == Payment.objects.count() == 1


def test_a_key_that_was_used_gets_its_own_payment_and_another_after_the_payment_that_payment(
    order: Order, buyer: User
) -> None:
    first = press_pay(signed_in(buyer), order.number).json()
    send_webhook(message(Payment.objects.get(), "declined"))
    again = press_pay(signed_in(buyer), order.number)
    assert (again.status_code, again.json()["status"], again.json()["url"]) == (200, "failed", "")
    assert again.json()["payment"] == first["payment"]
    new = press_pay(signed_in(buyer), order.number, "new")
    assert (new.status_code, new.json()["status"]) == (201, "pending")
    send_webhook(message(Payment.objects.get(pk=new.json()["payment"])))
    assert status_of(order) == "paid"
    # Nothing is charged any more.
    for key in ("new", "third"):
        paid = press_pay(signed_in(buyer), order.number, key)
        assert (paid.status_code, paid["Idempotent-Replayed"]) == (200, "true"), key
        assert (paid.json()["payment"], paid.json()["status"]) == (new.json()["payment"], "captured"), key
    assert paid.json()["url"] == ""
    assert Payment.objects.count() == SimulatedSession.objects.count() == 2


def test_an_unknown_field_and_another_buyer_change_nothing(order: Order, buyer: User, rival: User) -> None:
    refused = press_pay(signed_in(buyer), order.number, povider="simulated")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "povider")
    path = f"/api/v1/orders/{order.number}/cancel/"
    refused = signed_in(buyer).post(path, {"reason": "dear"}, headers={"Idempotency-Key": "key"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "reason")
    for press in (press_pay, press_cancel):
        assert press(signed_in(rival), order.number).status_code == 404
        assert press(APIClient(), order.number).status_code == 401
    assert not Payment.objects.exists()
    assert status_of(order) == "awaiting_payment"


def test_an_order_whose_time_is_over_or_that_has_ended_cannot_be_paid(order: Order, buyer: User) -> None:
    let_deadlines_pass()
    over = press_pay(signed_in(buyer), order.number)
    assert (over.status_code, over.json()["code"]) == (409, "time_over")
    assert over.json()["detail"] == "The units are no longer held for you."
    tasks.expire_overdue()
    ended = press_pay(signed_in(buyer), order.number)
    assert (ended.status_code, ended.json()["code"]) == (409, "not_awaiting_payment")
    assert ended.json()["order_status"] == "expired"
    assert ended["Content-Type"] == "application/problem+json"


def test_the_shop_may_offer_several_providers_or_none(order: Order, buyer: User, settings: LazySettings) -> None:
    unknown = press_pay(signed_in(buyer), order.number, provider="stripe")
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (400, "provider")
    settings.PAYMENT_PROVIDERS = []
    none = press_pay(signed_in(buyer), order.number)
    assert (none.status_code, none.json()["code"]) == (409, "no_provider")
    settings.PAYMENT_PROVIDERS = ["stripe", "simulated"]
    assert press_pay(signed_in(buyer), order.number, provider="simulated").status_code == 201


def test_an_unreachable_provider_changes_nothing_for_the_buyer(order: Order, item: SaleItem, buyer: User) -> None:
    with provider_that(open_session=mock.Mock(side_effect=ProviderUnreachable("away"))):
        answer = press_pay(signed_in(buyer), order.number)
    assert (answer.status_code, answer.json()["code"]) == (503, "provider_unreachable")
    assert int(answer["Retry-After"]) > 0
    assert figures(item) == (4, 1, 0, 1)
    again = press_pay(signed_in(buyer), order.number)
    assert (again.status_code, again.json()["url"] != "") == (200, True)
    assert Payment.objects.count() == 1


def test_a_session_whose_answer_was_lost_is_returned_again(order: Order, payment: Payment) -> None:
    Payment.objects.update(provider_reference="", url="")
    again = payment_of(order)
    assert (again.pk, again.provider_reference, again.url) == (payment.pk, payment.provider_reference, payment.url)


def test_repeated_cancelling_puts_the_units_back_once_and_closes_the_page(
    order: Order, payment: Payment, item: SaleItem, buyer: User
) -> None:
    answers = [press_cancel(signed_in(buyer), order.number) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].json() == answers[2].json()
    assert answers[0].json()["status"] == "cancelled"
    assert figures(item) == (5, 0, 0, 0)
    assert tasks.close_sessions() == 1
    assert tasks.close_sessions() == 0
    payment.refresh_from_db()
    assert (payment.status, payment.closed_at is not None) == (Payment.Status.FAILED, True)
    assert SimulatedSession.objects.get().status == SimulatedSession.Status.EXPIRED


def test_a_paid_order_cannot_be_cancelled(order: Order, item: SaleItem, buyer: User) -> None:
    lifecycle.pay(order_id=order.pk)
    answer = press_cancel(signed_in(buyer), order.number)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_awaiting_payment")
    assert figures(item) == (4, 0, 1, 1)


def test_a_page_that_cannot_be_closed_is_tried_again_later(order: Order, payment: Payment) -> None:
    lifecycle.cancel(order_id=order.pk)
    for error in (ProviderUnreachable("away"), ProviderRefused("paid")):
        with provider_that(close_session=mock.Mock(side_effect=error)):
            assert tasks.close_sessions() == 0, error
        assert tasks.close_sessions() == 0, error
        make_due(Payment)
    assert tasks.close_sessions() == 1


def test_a_sweep_ends_where_pages_are_closed_slowly(
    item: SaleItem, buyer: User, rival: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (buyer, rival):
        order = order_of(item, each)
        payment_of(order)
        lifecycle.cancel(order_id=order.pk)
    close = mock.Mock()
    clock = SimpleNamespace(monotonic=lambda: close.call_count * SWEEP_SECONDS)
    for module in (loop, sessions):
        monkeypatch.setattr(module, "time", clock)
    with provider_that(close_session=close):
        assert [tasks.close_sessions() for _ in range(3)] == [1, 1, 0]


@pytest.mark.slow
def test_with_a_silent_provider_the_buyer_gets_an_answer_within_two_seconds(
    order: Order, buyer: User, settings: LazySettings
) -> None:
    """The real client of a provider against a port that accepts connections and never answers."""
    with silent_server() as port:
        settings.PAYMENT_PROVIDERS, settings.STRIPE_SECRET_KEY = ["stripe"], "sk_test_x"
        settings.STRIPE_API_BASE = f"http://127.0.0.1:{port}"
        provider_choice.provider_named.cache_clear()
        started = time.monotonic()
        answer = press_pay(signed_in(buyer), order.number)
        seconds = time.monotonic() - started
        provider_choice.provider_named.cache_clear()
    assert (answer.status_code, answer.json()["code"]) == (503, "provider_unreachable")
    assert seconds < 2
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT


def test_a_slow_provider_holds_three_threads_and_the_others_are_told_at_once(
    order: Order, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The shop's own patience, not that of the tests (tests/conftest.py).
    monkeypatch.setattr(call_bound.web_calls, "slow_seconds", call_bound.SLOW_SECONDS)
    answered, under_way = threading.Event(), threading.Semaphore(0)
    answers: list[Any] = []

    def wait_for_it(self: object, *, payment: Payment) -> Any:
        under_way.release()
        answered.wait(timeout=30)
        raise ProviderUnreachable

    def press() -> None:
        client = signed_in(buyer)
        # A key of its own: with the same one, all but the first would be told that it is still running.
        answers.append(press_pay(client, order.number, str(uuid4())))

    threads = [threading.Thread(target=run_and_close(press)) for _ in range(8)]
    with provider_that(open_session=wait_for_it):
        for thread in threads:
            thread.start()
        for _call in range(3):
            assert under_way.acquire(timeout=30)
        give_up_s = time.monotonic() + 30
        while len(answers) < 5 and time.monotonic() < give_up_s:
            time.sleep(0.05)
        # Five were refused while three still wait.
        assert [len(answers), under_way.acquire(blocking=False)] == [5, False]
        refusal = answers[0]
        assert (refusal.status_code, refusal["Retry-After"]) == (503, "5")
        assert refusal.json()["code"] == "provider_unreachable"
        answered.set()
        for thread in threads:
            thread.join(timeout=30)


@pytest.mark.slow
def test_an_order_that_the_store_has_as_paid_is_not_charged_again(order: Order, item: SaleItem, buyer: User) -> None:
    """PostgreSQL was restored from a backup that was made before the payment."""
    press_pay(signed_in(buyer), order.number)
    send_webhook(message(Payment.objects.get()))
    assert status_of(order) == OrderStatus.PAID
    Payment.objects.all().delete()
    Order.objects.filter(pk=order.pk).update(status=OrderStatus.AWAITING_PAYMENT, ended_at=None, settled_at=None)
    calls_before = SimulatedSession.objects.count()
    for _press in range(2):
        answer = press_pay(signed_in(buyer), order.number, "another")
        assert (answer.status_code, answer.json()["code"]) == (503, "record_lost")
    assert (SimulatedSession.objects.count(), Payment.objects.count()) == (calls_before, 0)
    comparison = audit(item_id=item.pk, patience_seconds=5).comparison
    assert [str(each.reservation_id) for each in comparison.differences] == [str(order.reservation_id)]
