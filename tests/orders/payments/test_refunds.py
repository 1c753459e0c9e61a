"""Refunds of all or of a part: never more than was captured, each once, whatever dies or is repeated."""

import json
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from orders import tasks
from orders.life import lifecycle
from orders.life.lifecycle import RefundOutcome
from orders.mails.message import message_of
from orders.models import Attention, Mail, Order, OrderStatus, Payment, Refund
from orders.payments import provider_choice, refunds
from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable, RefundAnswer, RefundReply
from orders.payments.provider.timing import SWEEP_SECONDS
from orders.payments.simulated.models import SimulatedMessage, SimulatedRefund, SimulatedSession
from orders.refund_records import RefundRequest
from seckill.items import loop
from seckill.models import SaleItem
from shop.models import Product, Variant
from tests.steps.at_once import at_once
from tests.steps.buying import order_of, plain_order, status_of, with_address
from tests.steps.crash import killed_at
from tests.steps.paying import make_due, message, payment_of, send_webhook
from tests.steps.shop import make_item, variant_of
from tests.steps.staff import staff_pay_back
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)

EVERY_SOLD = [OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.COMPLETED]


@pytest.fixture
def item(product: Product) -> SaleItem:
    return make_item(product, per_buyer_max=3)


@pytest.fixture
def order(item: SaleItem, buyer: User) -> Order:
    """Three units for 57.00, paid on the provider's page by a buyer with an address for mails."""
    with_address(buyer)
    order = order_of(item, buyer, units=3)
    payment = payment_of(order)
    SimulatedSession.objects.update(status=SimulatedSession.Status.CAPTURED)
    send_webhook(message(payment))
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    return order


def wish(amount_minor: int, refund_id: UUID | None = None, **changes: object) -> RefundRequest:
    values = {"units_of_line": {}, "units_back": False, "reason": "scratched"} | changes
    return RefundRequest(refund_id=refund_id or uuid4(), amount_minor=amount_minor, **values)  # type: ignore[arg-type]


def ask(order: Order, amount_minor: int, **changes: object) -> RefundOutcome:
    return lifecycle.refund_amount(order_id=order.pk, request=wish(amount_minor, **changes))  # type: ignore[arg-type]


def deliver_events() -> None:
    for event in SimulatedMessage.objects.filter(delivered_at=None):
        assert send_webhook(json.loads(event.body)).status_code == 200


def pay_back() -> None:
    tasks.move_refunds()
    deliver_events()


def provider_that(**behaviour: Any) -> Any:
    return mock.patch.object(provider_choice.provider_named("simulated").__class__, "refund", **behaviour)


def state_of(order: Order) -> tuple[str, int, str]:
    """Status, refunded so far or soon, status of the payment."""
    order.refresh_from_db()
    return order.status, order.refunded_minor, order.payments.get().status


def test_a_part_is_paid_back_and_the_order_stays_as_it_is(order: Order, item: SaleItem) -> None:
    for parts, status in enumerate(EVERY_SOLD, start=1):
        Order.objects.filter(pk=order.pk).update(status=status)
        assert ask(order, 1000) is RefundOutcome.STARTED
        assert Refund.objects.latest("created_at").status == Refund.Status.DUE
        pay_back()
        refund = Refund.objects.latest("created_at")
        assert (refund.status, refund.amount_minor, refund.reason) == (Refund.Status.REFUNDED, 1000, "scratched")
        # The simulated company's transactions raise if they are nested.
        assert refund.last_error == ""
        assert refund.provider_reference.startswith("simref_")
        assert state_of(order) == (status, parts * 1000, Payment.Status.CAPTURED)
        assert order.mails.get(kind=Mail.Kind.REFUNDED, refund=refund)
        assert figures(item) == (2, 0, 3, 3)


def test_several_parts_end_the_order_with_the_last_one(order: Order, item: SaleItem) -> None:
    for amount_minor in (1000, 700):
        ask(order, amount_minor)
        pay_back()
    assert ask(order, 4001) is RefundOutcome.WRONG_AMOUNT
    assert ask(order, 4000) is RefundOutcome.STARTED
    assert state_of(order) == (OrderStatus.REFUND_DUE, 5700, Payment.Status.CAPTURED)
    pay_back()
    assert state_of(order) == (OrderStatus.REFUNDED, 5700, Payment.Status.REFUNDED)
    assert order.mails.filter(kind=Mail.Kind.REFUNDED).count() == 3
    assert not order.units_back
    # Staff did not say that the units can be sold again.
    assert figures(item) == (2, 0, 3, 3)
    assert SimulatedSession.objects.get().status == SimulatedSession.Status.REFUNDED


@pytest.mark.parametrize("status", [OrderStatus.SHIPPED, OrderStatus.COMPLETED])
def test_the_whole_of_a_sent_order_is_refunded_as_of_a_paid_one(order: Order, item: SaleItem, status: str) -> None:
    Order.objects.filter(pk=order.pk).update(status=status)
    assert lifecycle.refund(order_id=order.pk, units_back=True, reason="came back")
    assert not lifecycle.refund(order_id=order.pk, units_back=True)
    # The provider takes the request, and its event completes it.
    assert tasks.move_refunds() == 0
    assert state_of(order) == (OrderStatus.REFUND_DUE, 5700, Payment.Status.REFUND_DUE)
    deliver_events()
    assert state_of(order) == (OrderStatus.REFUNDED, 5700, Payment.Status.REFUNDED)
    assert order.mails.filter(kind=Mail.Kind.REFUNDED).count() == 1
    refund = Refund.objects.get()
    assert (refund.status, refund.amount_minor) == (Refund.Status.REFUNDED, 5700)
    assert figures(item) == (5, 0, 0, 0)


def test_the_rest_of_an_order_is_refunded_after_a_part_and_each_mail_names_its_own(
    order: Order, item: SaleItem
) -> None:
    ask(order, 700)
    # Even while the part is on its way.
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    assert state_of(order) == (OrderStatus.REFUND_DUE, 5700, Payment.Status.CAPTURED)
    pay_back()
    assert state_of(order) == (OrderStatus.REFUNDED, 5700, Payment.Status.REFUNDED)
    amounts = SimulatedRefund.objects.order_by("amount_minor").values_list("amount_minor", flat=True)
    assert list(amounts) == [700, 5000]
    assert figures(item) == (5, 0, 0, 0)
    for mail in Mail.objects.filter(kind=Mail.Kind.REFUNDED):
        assert mail.refund is not None
        message = message_of(mail)
        assert message is not None
        amount = f"CN¥{mail.refund.amount_minor // 100}.00"
        assert f"We have refunded {amount} to your original payment method." in message.body
        assert "That is a part of the CN¥57.00 that you paid." in message.body


def test_more_than_was_captured_is_not_paid_back_and_nothing_of_an_order_that_has_ended(order: Order) -> None:
    for amount_minor in (0, -1, 5701):
        assert ask(order, amount_minor) is RefundOutcome.WRONG_AMOUNT, amount_minor
    with pytest.raises(IntegrityError, match="orders_order_refund_within_amount"), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(refunded_minor=5701)
    for status in (OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REFUNDED):
        Order.objects.filter(pk=order.pk).update(status=status)
        assert ask(order, 100) is RefundOutcome.NOT_REFUNDABLE, status
        assert not lifecycle.refund(order_id=order.pk, units_back=False), status
    assert not Refund.objects.exists()


def test_two_people_at_once_do_not_refund_more_than_was_paid(order: Order) -> None:
    once = wish(1700)
    # One form from two windows, and then two thirds of the rest each.
    for wishes, refused in (
        ([once, once], RefundOutcome.REPEATED),
        ([wish(2700), wish(2700)], RefundOutcome.WRONG_AMOUNT),
    ):
        outcomes = at_once([partial(lifecycle.refund_amount, order_id=order.pk, request=it) for it in wishes])
        assert sorted(outcomes) == sorted([RefundOutcome.STARTED, refused])
    pay_back()
    assert state_of(order) == (OrderStatus.PAID, 1700 + 2700, Payment.Status.CAPTURED)


def test_a_crash_at_any_point_pays_back_once(order: Order) -> None:
    crashes = [("lifecycle.after_commit", 1000), ("refund.after_provider", 1700), ("refund.after_provider", 3000)]
    for number, (dies_at, amount_minor) in enumerate(crashes, start=1):
        once = wish(amount_minor)
        with killed_at(dies_at):
            lifecycle.refund_amount(order_id=order.pk, request=once)
            tasks.move_refunds()
        # Staff press again, the sweeps go on.
        assert lifecycle.refund_amount(order_id=order.pk, request=once) is RefundOutcome.REPEATED
        for _ in range(2):
            make_due(Refund)
            pay_back()
        assert SimulatedRefund.objects.latest("pk").amount_minor == amount_minor
        assert SimulatedMessage.objects.count() == SimulatedRefund.objects.count() == number
        assert order.mails.filter(kind=Mail.Kind.REFUNDED).count() == number
        assert state_of(order)[:2] == (
            OrderStatus.REFUNDED if number == 3 else OrderStatus.PAID,
            sum(amount for _, amount in crashes[:number]),
        )


def test_an_event_counts_once_beside_the_answer_and_an_answer_without_it(order: Order) -> None:
    ask(order, 1000)
    refund = Refund.objects.select_related("payment__order").get()
    # The company has paid and reported it, and its answer was lost.
    provider_choice.provider_named("simulated").refund(refund=refund)
    deliver_events()
    SimulatedMessage.objects.update(delivered_at=None)
    deliver_events()
    assert state_of(order)[1] == 1000
    assert tasks.move_refunds() == 0
    assert Refund.objects.get().status == Refund.Status.REFUNDED
    # A provider may also confirm at once.
    ask(order, 4700)
    with provider_that(return_value=RefundReply(RefundAnswer.DONE, "re_1")):
        assert tasks.move_refunds() == 1
        assert tasks.move_refunds() == 0
    assert state_of(order) == (OrderStatus.REFUNDED, 5700, Payment.Status.REFUNDED)


@pytest.mark.parametrize(
    ("amount_minor", "error"),
    [
        (1000, ProviderUnreachable("away")),
        # A whole refund is never given up.
        (None, ProviderRefused("no")),
    ],
    ids=["a part", "all, refused"],
)
def test_a_refund_that_fails_is_repeated_and_then_shown(
    order: Order, amount_minor: int | None, error: Exception
) -> None:
    if amount_minor:
        ask(order, amount_minor)
    else:
        lifecycle.refund(order_id=order.pk, units_back=True)
    with provider_that(side_effect=error) as asked:
        for _ in range(refunds.ATTEMPTS_BEFORE_ATTENTION):
            assert tasks.move_refunds() == 0
            assert tasks.move_refunds() == 0  # not due yet
            make_due(Refund)
    assert asked.call_count == refunds.ATTEMPTS_BEFORE_ATTENTION
    order.refresh_from_db()
    assert (order.attention, order.refunds.get().last_error) == (Attention.REFUND_FAILS, str(error))
    # The provider can be reached again.
    pay_back()
    order.refresh_from_db()
    assert (order.attention, order.refunds.get().status) == ("", Refund.Status.REFUNDED)
    assert order.status == (OrderStatus.PAID if amount_minor else OrderStatus.REFUNDED)


def test_a_part_that_the_provider_refuses_for_good_can_be_refunded_anew(order: Order) -> None:
    for amount_minor, before in ((1000, 0), (4700, 1000)):
        ask(order, amount_minor)
        with provider_that(side_effect=ProviderRefused("disputed")):
            for _ in range(refunds.ATTEMPTS_BEFORE_ATTENTION):
                tasks.move_refunds()
                make_due(Refund)
        refund = Refund.objects.latest("created_at")
        assert (refund.status, refund.last_error) == (Refund.Status.FAILED, "disputed")
        assert state_of(order)[1] == before
        assert order.attention == Attention.REFUND_FAILS
        assert ask(order, amount_minor) is RefundOutcome.STARTED
        pay_back()
        assert state_of(order)[1] == before + amount_minor
    assert order.status == OrderStatus.REFUNDED


def test_a_refund_that_fails_after_it_was_confirmed_is_shown(order: Order) -> None:
    ask(order, 5700)
    pay_back()
    payment = order.payments.get()
    failed = message(payment, "refund_failed", refund=str(Refund.objects.get().pk))
    send_webhook(failed)
    send_webhook(failed)
    assert state_of(order) == (OrderStatus.REFUND_DUE, 0, Payment.Status.CAPTURED)
    assert order.attention == Attention.REFUND_FAILS


# --- refunds made on the provider's own site ---


def test_a_refund_whose_failure_is_reported_before_the_provider_has_answered_stays_failed(order: Order) -> None:
    ask(order, 1000)
    refund = Refund.objects.get()
    failed = message(order.payments.get(), "refund_failed", refund=str(refund.pk), amount_minor=1000)

    def answer(*_: object, **_given: object) -> RefundReply:
        send_webhook(failed)
        return RefundReply(RefundAnswer.UNDER_WAY, "simref_1")

    with provider_that(side_effect=answer):
        tasks.move_refunds()
    refund.refresh_from_db()
    assert (refund.status, refund.provider_reference) == (Refund.Status.FAILED, "simref_1")
    assert (refund.failing_since is None, refund.last_error) == (False, "the provider reports that the refund failed")


def test_a_part_that_was_refunded_on_the_providers_site_is_written_down(order: Order) -> None:
    ask(order, 1000)
    tasks.move_refunds()
    payment = order.payments.get()
    # Ours is due and counts already: nothing new.
    send_webhook(message(payment, "refunded_so_far", amount_minor=1000))
    assert Refund.objects.count() == 1
    send_webhook(message(payment, "refunded_so_far", amount_minor=1500))
    send_webhook(message(payment, "refunded_so_far", amount_minor=1500))
    assert sorted(Refund.objects.values_list("amount_minor", flat=True)) == [500, 1000]
    assert state_of(order) == (OrderStatus.PAID, 1500, Payment.Status.CAPTURED)


@pytest.mark.parametrize(("site_minor", "is_asked"), [(1000, False), (1000, True), (300, True)])
def test_a_refund_on_the_providers_site_is_not_taken_for_one_of_ours_that_is_due(
    order: Order, site_minor: int, is_asked: bool
) -> None:
    # Given a refund of ours that the provider has not paid
    ask(order, 1000)
    if is_asked:
        with provider_that(side_effect=ProviderUnreachable("away")):
            tasks.move_refunds()
    # When staff refund an amount on its site
    payment = order.payments.get()
    send_webhook(message(payment, "refunded_so_far", amount_minor=site_minor))
    # Then it is written down, unless it may be ours, whose answer was lost
    if is_asked and site_minor == 1000:
        assert state_of(order)[1] == 1000
    else:
        assert state_of(order)[1] == 1000 + site_minor
    # And both are, once ours is paid and in the sum
    make_due(Refund)
    pay_back()
    send_webhook(message(payment, "refunded_so_far", amount_minor=1000 + site_minor))
    assert state_of(order) == (OrderStatus.PAID, 1000 + site_minor, Payment.Status.CAPTURED)
    rows = set(Refund.objects.values_list("amount_minor", "status"))
    assert rows == {(1000, "refunded"), (site_minor, "refunded")}
    assert Refund.objects.count() == 2


def test_a_refund_on_the_providers_site_is_known_although_ours_fails_after_it_was_accepted(order: Order) -> None:
    ask(order, 1000)
    payment, refund = order.payments.get(), Refund.objects.get()
    send_webhook(message(payment, "refunded_so_far", amount_minor=1000))
    tasks.move_refunds()
    send_webhook(message(payment, "refund_failed", refund=str(refund.pk)))
    assert set(Refund.objects.values_list("amount_minor", "status")) == {(1000, "failed"), (1000, "refunded")}
    assert state_of(order) == (OrderStatus.PAID, 1000, Payment.Status.CAPTURED)


def test_all_that_was_left_refunded_on_the_providers_site_ends_a_sent_order(order: Order, item: SaleItem) -> None:
    Order.objects.filter(pk=order.pk).update(status=OrderStatus.SHIPPED)
    ask(order, 1000)
    send_webhook(message(order.payments.get(), "refunded"))
    assert state_of(order) == (OrderStatus.REFUNDED, 5700, Payment.Status.REFUNDED)
    assert set(Refund.objects.values_list("amount_minor", "status")) == {(1000, "refunded"), (4700, "refunded")}
    assert figures(item) == (2, 0, 3, 3)


def test_refunds_that_postgresql_has_lost_are_written_down_and_end_the_order_once_they_are_all_of_the_money(
    order: Order, item: SaleItem
) -> None:
    """Otherwise an order that was refunded could be sent."""
    lost = [uuid4(), uuid4()]
    for refund, amount_minor, after in (
        (lost[0], 900, (OrderStatus.PAID, 900, Payment.Status.CAPTURED)),
        (lost[1], 4800, (OrderStatus.REFUNDED, 5700, Payment.Status.REFUNDED)),
    ):
        send_webhook(message(order.payments.get(), "refund_paid", refund=str(refund), amount_minor=amount_minor))
        assert state_of(order) == after
    assert set(Refund.objects.values_list("pk", flat=True)) == set(lost)
    assert figures(item) == (2, 0, 3, 3)


def test_a_refund_of_money_that_has_not_come_is_not_written_down(item: SaleItem, buyer: User) -> None:
    order = order_of(item, buyer)
    payment = payment_of(order)
    for kind in ("refund_paid", "refund_failed", "refunded_so_far", "refunded"):
        send_webhook(message(payment, kind, refund=str(uuid4())))
    assert not Refund.objects.exists()
    send_webhook(message(payment))
    assert state_of(order) == (OrderStatus.PAID, 0, Payment.Status.CAPTURED)


@pytest.mark.parametrize("event_comes", ["while ours is due", "after ours was refused"])
def test_a_part_refunded_on_the_providers_site_is_known_although_one_of_ours_was_refused(
    order: Order, event_comes: str
) -> None:
    # Given 30.00 refunded on the provider's site, so that it refuses 40.00 of the 57.00
    so_far = message(order.payments.get(), "refunded_so_far", amount_minor=3000)
    ask(order, 4000)
    if event_comes == "while ours is due":
        send_webhook(so_far)
    with provider_that(side_effect=ProviderRefused("more than is left")):
        for _ in range(refunds.ATTEMPTS_BEFORE_ATTENTION):
            tasks.move_refunds()
            make_due(Refund)
    # When the event comes late or is repeated
    send_webhook(so_far)
    # Then the shop knows what went back, and has it once
    assert set(Refund.objects.values_list("amount_minor", "status")) == {(4000, "failed"), (3000, "refunded")}
    assert state_of(order) == (OrderStatus.PAID, 3000, Payment.Status.CAPTURED)
    assert order.attention == Attention.REFUND_FAILS
    assert ask(order, 2701) is RefundOutcome.WRONG_AMOUNT


@pytest.mark.parametrize("answer_is_known", [True, False])
def test_a_sum_that_the_failure_of_our_refund_overtakes_says_nothing_new(order: Order, answer_is_known: bool) -> None:
    # Given a refund that the provider has accepted, counted in its sum, and failed; its answer may be lost
    ask(order, 1000)
    payment, refund = order.payments.get(), Refund.objects.get()
    so_far = message(payment, "refunded_so_far", amount_minor=1000)
    if answer_is_known:
        tasks.move_refunds()
    send_webhook(message(payment, "refund_failed", refund=str(refund.pk)))
    # When the sum comes last
    send_webhook(so_far)
    # Then nothing went back
    assert Refund.objects.get().status == Refund.Status.FAILED
    assert state_of(order)[1] == 0


# --- money that staff return themselves ---


@pytest.fixture
def ordinary(buyer: User, product: Product) -> Order:
    """Two units from the ordinary stock for 198.00, whose payment staff recorded."""
    with_address(buyer)
    Variant.objects.filter(product=product).update(available=8, held=0, sold=2)
    return plain_order(variant_of(product), buyer, 2, 9900, status=OrderStatus.PAID, ended_at="2026-01-01T00:05Z")


def test_money_that_staff_return_themselves_is_refunded_once_they_say_so(ordinary: Order, shop_manager: User) -> None:
    assert ask(ordinary, 5000, made_by=shop_manager) is RefundOutcome.STARTED
    refund = Refund.objects.get()
    assert (refund.status, refund.payment, refund.made_by) == (Refund.Status.DUE, None, shop_manager)
    # No sweep pays it.
    assert tasks.move_refunds() == 0
    assert not ordinary.mails.exists()
    assert staff_pay_back(ordinary) == [refund]
    assert ordinary.mails.get().refund == refund
    assert lifecycle.refund(order_id=ordinary.pk, units_back=False)
    ordinary.refresh_from_db()
    assert (ordinary.status, ordinary.refunded_minor) == (OrderStatus.REFUND_DUE, 19800)
    assert len(staff_pay_back(ordinary)) == 1
    assert status_of(ordinary) == OrderStatus.REFUNDED


def test_units_that_the_order_does_not_have_are_refused(ordinary: Order, buyer: User) -> None:
    line = ordinary.lines.get()
    ask(ordinary, 9900, units_of_line={line.pk: 1})
    assert ask(ordinary, 100, units_of_line={line.pk: 2}) is RefundOutcome.TOO_MANY_UNITS
    of_another = plain_order(line.variant, buyer, 1, 9900).lines.get()
    assert ask(ordinary, 100, units_of_line={of_another.pk: 1}, units_back=True) is RefundOutcome.TOO_MANY_UNITS


def test_a_part_of_a_flash_sale_keeps_its_units_sold(order: Order, item: SaleItem) -> None:
    line = order.lines.get()
    ask(order, 1900, units_of_line={line.pk: 1}, units_back=True)
    assert figures(item) == (2, 0, 3, 3)
    assert not Refund.objects.get().lines.get().is_returned


def test_a_sweep_ends_where_each_answer_of_the_provider_is_slow(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    for amount_minor in (100, 200):
        assert ask(order, amount_minor) is RefundOutcome.STARTED
    with provider_that(return_value=RefundReply(RefundAnswer.DONE, "re_1")) as asked:
        clock = SimpleNamespace(monotonic=lambda: asked.call_count * SWEEP_SECONDS)
        for module in (loop, refunds):
            monkeypatch.setattr(module, "time", clock)
        assert [tasks.move_refunds() for _ in range(3)] == [1, 1, 0]
