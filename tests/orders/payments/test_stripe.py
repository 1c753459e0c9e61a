"""The provider `stripe`, through Stripe's real library.

What these tests cannot show: that Stripe itself agrees. There is no network here, so the library speaks to the local
server of stripe_server.py, which records what it sends and answers in the shapes that Stripe documents; the events are
written by hand in those shapes and signed with the library's own function. Run a sandbox account before trusting real
money to it.
"""

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
import stripe
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.utils import timezone, translation

from orders import tasks
from orders.life import lifecycle
from orders.mails.message import message_of
from orders.models import Document, Mail, Order, OrderLine, OrderStatus, Payment, PaymentEvent, Refund
from orders.payments import late_money, provider_choice, sessions
from orders.payments.provider.interface import PagePaid, ProviderRefused, ProviderUnreachable, RefundAnswer
from orders.payments.stripe_checkout import StripeProvider
from seckill.models import SaleItem
from shop.models import Product, Variant
from tests.orders.payments.stripe_server import StripeServer, stripe_server
from tests.steps.buying import buyer_of, let_deadlines_pass, plain_order, signed_in, status_of, with_address
from tests.steps.paying import make_due, payment_of, payment_row, press_pay, refund_part
from tests.steps.store import figures

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "whsec_test"
# An error of Stripe's own, which it keeps under the call's key.
FAILURE = (500, "api_error", "")


@pytest.fixture
def server(settings: LazySettings) -> Iterator[StripeServer]:
    with stripe_server() as server:
        settings.PAYMENT_PROVIDERS = ["stripe"]
        settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET = "sk_test_x", SECRET
        settings.STRIPE_API_BASE = server.url
        provider_choice.provider_named.cache_clear()
        yield server
        provider_choice.provider_named.cache_clear()


@pytest.fixture
def provider(server: StripeServer) -> StripeProvider:
    return StripeProvider()


@pytest.fixture
def payment(server: StripeServer, order: Order) -> Payment:
    return payment_of(order)


def event(payment: Payment, type_: str = "checkout.session.completed", **changes: Any) -> dict[str, Any]:
    thing = {
        "id": payment.provider_reference,
        "object": "checkout.session",
        "client_reference_id": str(payment.pk),
        "metadata": {"payment": str(payment.pk), "reservation": str(payment.order.reservation_id)},
        "payment_status": "paid",
        "amount_total": 1900,
        "currency": "cny",
        **changes,
    }
    return {
        "id": f"evt_{type_}",
        "object": "event",
        "type": type_,
        "created": int(time.time()),
        "data": {"object": thing},
    }


def refund_event(payment: Payment, type_: str, **changes: Any) -> dict[str, Any]:
    known = {"payment": str(payment.pk)}
    of_charge = {"id": "ch_0", "object": "charge", "client_reference_id": None, "amount_total": None, "metadata": known}
    return event(payment, type_, amount=1900, **of_charge | changes)


def send_webhook(stripe_event: dict[str, Any], *, signed_s: int | None = None, secret: str = SECRET) -> Any:
    body = json.dumps(stripe_event)
    header = stripe.WebhookSignature.generate_signature_header(body, secret, signed_s)
    return Client().post(
        "/api/v1/payments/stripe/webhook/",
        body,
        content_type="application/json; charset=utf-8",
        headers={"Stripe-Signature": header},
    )


def test_a_session_says_whose_payment_it_is_and_what_is_due(server: StripeServer, order: Order, buyer: User) -> None:
    answer = press_pay(signed_in(buyer), order.number)
    assert (answer.status_code, answer.json()["url"]) == (201, "https://pay.example/cs_test_1")
    payment = Payment.objects.get()
    assert payment.provider_reference == "cs_test_1"
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/checkout/sessions")
    assert asked.idempotency_key == f"session-{payment.pk}"
    form = asked.form
    assert form["client_reference_id"] == form["metadata[payment]"] == str(payment.pk)
    assert form["payment_intent_data[metadata][payment]"] == str(payment.pk)
    assert (form["line_items[0][price_data][unit_amount]"], form["line_items[0][quantity]"]) == ("1900", "1")
    assert form["line_items[0][price_data][currency]"] == "cny"
    assert form["mode"] == "payment"
    assert form["adaptive_pricing[enabled]"].lower() == "false"
    assert form["success_url"].endswith(f"{order.get_absolute_url()}?payment=returned")
    assert form["cancel_url"].endswith(f"{order.get_absolute_url()}?payment=left")
    # Stripe requires at least 30 minutes.
    assert int(form["expires_at"]) >= time.time() + 30 * 60


def test_each_line_is_an_item_with_a_name_that_stripe_takes(server: StripeServer, buyer: User) -> None:
    # Given ten ordinary products, whose names together are too long for Stripe, one of them by itself
    order = plain_order(
        variant_named("a" * 200, "b" * 100), buyer, 2, 1000, shipping_name="Courier", shipping_minor=600
    )
    for number in range(9):
        line = OrderLine(order=order, variant=variant_named(f"Longjing tea, spring harvest, tin {number}"), units=3)
        line.unit_price_minor = 500
        line.save()
    Order.objects.filter(pk=order.pk).update(amount_minor=2 * 1000 + 9 * 3 * 500 + 600)
    # When the buyer pays
    answer = press_pay(signed_in(buyer), order.number)
    # Then Stripe's page lists the order's lines and the delivery, and asks for the order's amount
    assert answer.status_code == 201, answer.content
    form = server.asked[0].form
    items = [
        (
            form[f"{item}[price_data][product_data][name]"],
            form[f"{item}[quantity]"],
            form[f"{item}[price_data][unit_amount]"],
        )
        for item in (f"line_items[{place}]" for place in range(11))
    ]
    assert items[0] == ("a" * 200 + " · " + "b" * 46 + "…", "2", "1000")
    assert items[9] == ("Longjing tea, spring harvest, tin 8", "3", "500")
    assert items[10] == ("Courier", "1", "600")
    assert sum(int(units) * int(price) for _, units, price in items) == 16100
    assert form["metadata[order]"] == form["payment_intent_data[metadata][order]"] == str(order.number)


def variant_named(name: str, options: str = "") -> Variant:
    product = Product.objects.create(name=name, slug=f"p-{uuid4().hex}")
    return Variant.objects.create(product=product, sku=uuid4().hex, options=options, price_minor=500)


def test_a_session_lives_as_long_as_stripe_allows(
    server: StripeServer, provider: StripeProvider, payment: Payment
) -> None:
    for hold in (timedelta(seconds=5), timedelta(days=7)):
        Payment.objects.update(request=None)
        server.forms.clear()
        payment.refresh_from_db()
        payment.order.expires_at = payment.created_at + hold
        provider.open_session(payment=payment)
        lives_seconds = int(server.asked[-1].form["expires_at"]) - payment.created_at.timestamp()
        assert 30 * 60 < lives_seconds < 24 * 3600, hold


def test_a_call_that_is_repeated_after_a_timeout_says_what_the_first_said(
    server: StripeServer, settings: LazySettings, order: Order, product: Product
) -> None:
    # Given a call that Stripe has carried out, and whose answer was lost
    server.lost_answers = 1
    with translation.override("en"), pytest.raises(ProviderUnreachable):
        payment_of(order)
    # When the buyer tries again in another language, and the shop has changed the product's name and its own address
    Product.objects.filter(pk=product.pk).update(name="Dragon well", name_zh_hans="西湖龙井")
    settings.SHOP_URL = "https://new.example.com"
    with translation.override("zh-hans"):
        payment = payment_of(order, "second press")
    # Then Stripe recognises the call and gives its page
    assert (payment.url, Payment.objects.count()) == ("https://pay.example/cs_test_1", 1)
    assert server.asked[0].form == server.asked[1].form
    assert server.asked[0].form["line_items[0][price_data][product_data][name]"] == "Longjing tea"


def test_a_session_that_is_opened_again_to_be_closed_says_the_same(
    server: StripeServer, order: Order, product: Product
) -> None:
    server.lost_answers = 1
    with translation.override("zh-hans"), pytest.raises(ProviderUnreachable):
        payment_of(order)
    let_deadlines_pass()
    tasks.expire_overdue()
    assert tasks.close_sessions() == 1
    assert server.asked[-1].path == "/v1/checkout/sessions/cs_test_1/expire"


@pytest.fixture
def failed(server: StripeServer, order: Order) -> Payment:
    """A payment whose page Stripe failed to open, by an error that it repeats for a day."""
    server.faults = [FAILURE]
    with pytest.raises(ProviderUnreachable):
        payment_of(order)
    return Payment.objects.get()


def test_an_error_that_stripe_repeats_keeps_no_buyer_from_paying(
    server: StripeServer, order: Order, failed: Payment
) -> None:
    again = payment_of(order, "second press")
    assert (again.pk, again.url) == (failed.pk, "https://pay.example/cs_test_1")
    assert [asked.is_replayed for asked in server.asked] == [False, True, False]
    assert server.asked[0].form == server.asked[2].form


def test_a_new_error_of_stripe_is_no_answer_and_the_next_press_opens_the_page(
    server: StripeServer, order: Order, failed: Payment
) -> None:
    server.faults = [None, FAILURE]
    with pytest.raises(ProviderUnreachable):
        payment_of(order, "second press")
    assert payment_of(order, "third press").url == "https://pay.example/cs_test_1"


def test_of_two_presses_at_once_after_an_error_both_lead_to_one_page(server: StripeServer, failed: Payment) -> None:
    presses = [Payment.objects.get(), Payment.objects.get()]
    for payment in presses:
        sessions.open_page(payment=payment)
    assert len(server.sessions) == 2
    assert {payment.url for payment in presses} == {Payment.objects.get().url}


@pytest.mark.usefixtures("failed")
def test_an_error_that_stripe_repeats_keeps_no_page_open(server: StripeServer) -> None:
    let_deadlines_pass()
    tasks.expire_overdue()
    assert tasks.close_sessions() == 1
    assert server.asked[-1].path == "/v1/checkout/sessions/cs_test_1/expire"


@pytest.fixture
def order_of_days(order: Order) -> Order:
    """An order that may be paid for a week."""
    Order.objects.update(expires_at=timezone.now() + timedelta(days=6))
    return order


def press_a_day_later(order: Order, *, hours: float = 23.5) -> Payment:
    Payment.objects.update(created_at=timezone.now() - timedelta(hours=hours))
    return payment_of(order, "a day later")


@pytest.mark.usefixtures("server")
def test_a_session_that_was_never_opened_is_followed_by_one_that_stripe_still_opens(order_of_days: Order) -> None:
    # Given a payment whose process was killed before it asked Stripe
    never_opened = payment_row(order_of_days, provider="stripe")
    payment = press_a_day_later(order_of_days)
    assert (payment.url, payment.pk == never_opened.pk) == ("https://pay.example/cs_test_1", False)
    never_opened.refresh_from_db()
    assert (never_opened.status, never_opened.closed_at is None) == (Payment.Status.FAILED, False)


@pytest.mark.parametrize("status", ["open", "expired"])
def test_a_session_that_may_have_expired_unheard_is_closed_and_followed_by_another(
    server: StripeServer, order_of_days: Order, status: str
) -> None:
    former = payment_of(order_of_days)
    server.session_status = status
    assert press_a_day_later(order_of_days, hours=22).pk == former.pk
    payment = press_a_day_later(order_of_days)
    assert (payment.pk == former.pk, payment.url) == (False, "https://pay.example/cs_test_2")
    former.refresh_from_db()
    assert (server.session_status, former.status, former.closed_at is None) == ("expired", Payment.Status.FAILED, False)


def test_a_session_whose_money_is_on_its_way_is_followed_by_no_other(
    server: StripeServer, order_of_days: Order
) -> None:
    former = payment_of(order_of_days)
    server.session_status = "complete"
    for status in ("unpaid", "paid"):
        server.payment_status = status
        assert press_a_day_later(order_of_days).pk == former.pk
    assert Payment.objects.get().status == Payment.Status.PENDING


def test_a_bank_transfer_pays_once_when_its_money_is_there(item: SaleItem, order: Order, payment: Payment) -> None:
    assert send_webhook(event(payment, payment_status="unpaid")).status_code == 200
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    for _ in range(2):
        assert send_webhook(event(payment, "checkout.session.async_payment_succeeded")).status_code == 200
        assert status_of(order) == OrderStatus.PAID
    assert PaymentEvent.objects.count() == 1
    assert figures(item) == (4, 0, 1, 1)


def test_a_session_that_failed_lets_the_buyer_try_again(order: Order, payment: Payment) -> None:
    for type_ in ("checkout.session.expired", "checkout.session.async_payment_failed"):
        send_webhook(event(payment, type_, payment_status="unpaid"))
        payment.refresh_from_db()
        assert (payment.status, status_of(order)) == (Payment.Status.FAILED, OrderStatus.AWAITING_PAYMENT), type_
        former, payment = payment, payment_of(order, key=type_)
        assert payment.pk != former.pk


def test_an_event_that_is_forged_old_or_about_something_else_changes_nothing(order: Order, payment: Payment) -> None:
    forged = send_webhook(event(payment), secret="whsec_another")
    assert (forged.status_code, forged.json()["code"]) == (400, "signature_invalid")
    old = send_webhook(event(payment), signed_s=int(time.time()) - 301)
    assert (old.status_code, old.json()["code"]) == (400, "signature_expired")
    for header in ({}, {"Stripe-Signature": "nonsense"}):
        answer = Client().post("/api/v1/payments/stripe/webhook/", b"\xff", content_type="text/plain", headers=header)
        assert (answer.status_code, answer.json()["code"]) == (400, "signature_invalid")
    assert send_webhook(event(payment, "customer.created")).status_code == 200
    assert send_webhook(event(payment, client_reference_id="a donation", metadata={})).status_code == 200
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    assert not PaymentEvent.objects.exists()


def test_the_session_of_an_expired_order_is_expired_unless_it_was_paid_or_is_over(
    server: StripeServer, provider: StripeProvider, payment: Payment
) -> None:
    assert tasks.close_sessions() == 0
    let_deadlines_pass()
    tasks.expire_overdue()
    assert tasks.close_sessions() == 1
    assert server.asked[-1].path == f"/v1/checkout/sessions/{payment.provider_reference}/expire"
    server.session_status = "complete"
    with pytest.raises(ProviderRefused) as slow:
        provider.close_session(payment=payment)
    assert not isinstance(slow.value, PagePaid)
    server.payment_status = "paid"
    with pytest.raises(PagePaid):
        provider.close_session(payment=payment)
    server.session_status, server.payment_status = "expired", "unpaid"
    provider.close_session(payment=payment)


@pytest.fixture
def paid(server: StripeServer, order: Order, payment: Payment) -> Order:
    send_webhook(event(payment))
    server.session_status = "complete"
    return order


@pytest.fixture
def whole(paid: Order) -> Refund:
    """A refund of all that Stripe captured."""
    lifecycle.refund(order_id=paid.pk, units_back=True)
    return Refund.objects.get()


def test_a_refund_is_asked_for_by_the_payment_intent_under_a_key_of_its_own_and_shown_if_it_fails_later(
    server: StripeServer, order: Order, payment: Payment, whole: Refund
) -> None:
    assert tasks.move_refunds() == 1
    asked = server.asked[-1]
    assert (asked.path, asked.form["payment_intent"]) == ("/v1/refunds", "pi_1")
    assert asked.idempotency_key == f"refund-{whole.pk}"
    # All that Stripe still has.
    assert "amount" not in asked.form
    assert asked.form["metadata[part_of]"] == str(payment.pk)
    assert status_of(order) == OrderStatus.REFUNDED
    send_webhook(refund_event(payment, "refund.failed", object="refund", status="failed"))
    assert (status_of(order), order.attention) == (OrderStatus.REFUND_DUE, "refund_fails")


@pytest.mark.parametrize(
    ("type_", "changes"),
    [
        ("charge.refunded", {"refunded": True, "amount_refunded": 1900}),
        ("refund.updated", {"object": "refund", "status": "succeeded"}),
    ],
)
@pytest.mark.usefixtures("whole")
def test_a_slow_refund_is_completed_by_an_event(
    server: StripeServer, order: Order, payment: Payment, type_: str, changes: dict[str, Any]
) -> None:
    server.refund_status = "pending"
    assert tasks.move_refunds() == 0
    assert status_of(order) == OrderStatus.REFUND_DUE
    # A partial refund does not complete it.
    send_webhook(refund_event(payment, "charge.refunded", refunded=False, amount_refunded=1) | {"id": "evt_part"})
    assert status_of(order) == OrderStatus.REFUND_DUE
    send_webhook(refund_event(payment, type_, **changes))
    assert status_of(order) == OrderStatus.REFUNDED


@pytest.fixture
def part(paid: Order) -> Refund:
    """A refund of 5.00 of the 19.00 that Stripe captured."""
    return refund_part(paid, 500)


def part_state(part: Refund, order: Order) -> tuple[str, str, int]:
    part.refresh_from_db()
    return part.status, status_of(order), order.refunded_minor


def test_a_part_is_asked_for_by_its_amount_under_a_key_of_its_own_and_no_longer_counts_if_it_fails_later(
    server: StripeServer, order: Order, payment: Payment, part: Refund
) -> None:
    assert tasks.move_refunds() == 1
    asked = server.asked[-1]
    assert (asked.path, asked.form["payment_intent"], asked.form["amount"]) == ("/v1/refunds", "pi_1", "500")
    assert (asked.idempotency_key, asked.form["metadata[refund]"]) == (f"refund-{part.pk}", str(part.pk))
    # Under this name it would be a refund of the whole.
    assert "metadata[payment]" not in asked.form
    assert part_state(part, order) == ("refunded", OrderStatus.PAID, 500)
    assert part.provider_reference == "re_1"
    overtaken = refund_event(payment, "charge.refunded", refunded=False, amount_refunded=500)
    send_webhook(part_event(part, payment, "refund.failed", "failed"))
    assert part_state(part, order) == ("failed", OrderStatus.PAID, 0)
    assert order.attention == "refund_fails"
    # The report that the failure has overtaken is no new refund.
    send_webhook(overtaken)
    assert part_state(part, order) == ("failed", OrderStatus.PAID, 0)
    assert Refund.objects.count() == 1


def refund_mails(order: Order) -> list[str]:
    """The first sentence of each mail about a refund."""
    texts = [message_of(mail) for mail in order.mails.filter(kind=Mail.Kind.REFUNDED).order_by("pk")]
    return [str(text.body).split("\n")[4] for text in texts if text is not None]


@pytest.mark.parametrize("status", ["succeeded", "pending"])
def test_a_refund_of_the_whole_names_what_stripe_still_had(
    server: StripeServer, order: Order, payment: Payment, whole: Refund, status: str
) -> None:
    """5.00 were refunded on Stripe's own site, whose event is late. Staff refund all: Stripe pays the other 14.00."""
    with_address(buyer_of(order))
    server.refund_status, server.still_has = status, 1400
    tasks.move_refunds()
    if status == "pending":
        known = {"refund": str(whole.pk), "part_of": str(payment.pk)}
        send_webhook(refund_event(payment, "refund.updated", object="refund", status="succeeded", metadata=known))
    late = refund_event(payment, "charge.refunded", refunded=False, amount_refunded=500)
    send_webhook(late | {"id": "evt_late"})
    send_webhook(refund_event(payment, "charge.refunded", refunded=True, amount_refunded=1900))
    assert (status_of(order), order.refunded_minor) == (OrderStatus.REFUNDED, 1900)
    assert sorted(Refund.objects.values_list("amount_minor", "status")) == [(500, "refunded"), (1400, "refunded")]
    assert sorted(refund_mails(order)) == [
        "We have refunded CN¥14.00 to your original payment method.",
        "We have refunded CN¥5.00 to your original payment method.",
    ]


def test_the_rest_of_a_payment_that_all_goes_back_is_what_stripe_still_has(
    server: StripeServer, order: Order, payment: Payment
) -> None:
    """3.00 went back before the shop decided about a late payment, and 5.00 while its own 16.00 were due."""
    lifecycle.end_unpaid(order_ids=[order.pk], status=OrderStatus.EXPIRED)
    server.session_status = "complete"
    SaleItem.objects.update(taken=F("quantity"))
    with mock.patch.object(late_money, "settle_late_payment"):
        send_webhook(event(payment))
    send_webhook(refunded_on_stripes_site(payment, total=300, before=0))
    late_money.settle_late_payment(order_id=order.pk)
    send_webhook(refunded_on_stripes_site(payment, total=800, before=300))
    server.still_has = 1100
    assert tasks.move_refunds() == 1
    assert sorted(Refund.objects.values_list("amount_minor", "status")) == [
        (300, "refunded"),
        (500, "refunded"),
        (1100, "refunded"),
    ]
    assert status_of(order) == OrderStatus.REFUNDED


def refunded_on_stripes_site(payment: Payment, *, total: int, before: int) -> dict[str, Any]:
    """The event of one refund: it says the sum of all, and what that was before."""
    made = refund_event(payment, "charge.refunded", refunded=total == 1900, amount_refunded=total)
    made["data"]["previous_attributes"] = {"amount_refunded": before or None}
    return made | {"id": f"evt_total_{total}"}


@pytest.mark.parametrize(("second", "turned"), [(800, False), (800, True), (1900, True)])
def test_two_refunds_on_stripes_site_keep_their_amounts_in_whatever_order_they_are_reported(
    paid: Order, payment: Payment, second: int, turned: bool
) -> None:
    with_address(buyer_of(paid))
    events = [
        refunded_on_stripes_site(payment, total=500, before=0),
        refunded_on_stripes_site(payment, total=second, before=500),
    ]
    for each in reversed(events) if turned else events:
        assert send_webhook(each).status_code == 200
    rows = Refund.objects.order_by("created_at").values_list("amount_minor", "status")
    assert list(rows) == [(500, "refunded"), (second - 500, "refunded")]
    status = OrderStatus.REFUNDED if second == 1900 else OrderStatus.PAID
    assert (status_of(paid), paid.refunded_minor) == (status, second)
    assert refund_mails(paid) == [
        "We have refunded CN¥5.00 to your original payment method.",
        f"We have refunded CN¥{(second - 500) // 100}.00 to your original payment method.",
    ]


@pytest.mark.usefixtures("part")
def test_the_report_of_our_own_refund_that_comes_before_one_of_stripes_site_is_not_taken_for_it(
    payment: Payment,
) -> None:
    """3.00 on Stripe's site and then 5.00 of ours, of which the report comes first."""
    tasks.move_refunds()
    send_webhook(refunded_on_stripes_site(payment, total=800, before=300))
    send_webhook(refunded_on_stripes_site(payment, total=300, before=0))
    assert sorted(Refund.objects.values_list("amount_minor", flat=True)) == [300, 500]


def failed_on_site(reference: str, amount: int, type_: str = "refund.failed") -> dict[str, Any]:
    """The event of a refund that was made on Stripe's site: it knows nothing of the shop."""
    made = {"id": reference, "object": "refund", "status": "failed", "amount": amount, "currency": "cny"}
    thing = made | {"metadata": {}, "charge": "ch_0", "payment_intent": "pi_1"}
    about = {"id": f"evt_{type_}_{reference}", "object": "event", "type": type_, "created": int(time.time())}
    return about | {"data": {"object": thing}}


@pytest.mark.parametrize("total", [500, 1900], ids=["a part", "the whole"])
def test_a_refund_on_stripes_site_that_fails_later_is_undone_once(paid: Order, payment: Payment, total: int) -> None:
    send_webhook(refunded_on_stripes_site(payment, total=total, before=0))
    for type_ in ("refund.updated", "refund.failed"):
        assert send_webhook(failed_on_site("re_9", total, type_)).status_code == 200
    (refund,) = Refund.objects.all()
    assert (refund.status, refund.provider_reference) == ("failed", "re_9")
    status = OrderStatus.PAID if total == 500 else OrderStatus.REFUND_DUE
    assert (status_of(paid), paid.refunded_minor, paid.attention) == (status, 0, "refund_fails")
    kinds = list(Document.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == ["invoice", "credit_note", "debit_note"]


def test_of_two_equal_refunds_on_stripes_site_one_fails(paid: Order, payment: Payment) -> None:
    for total in (500, 1000):
        send_webhook(refunded_on_stripes_site(payment, total=total, before=total - 500))
    for type_ in ("refund.updated", "refund.failed"):
        send_webhook(failed_on_site("re_9", 500, type_))
    assert sorted(Refund.objects.values_list("status", flat=True)) == ["failed", "refunded"]
    assert (status_of(paid), paid.refunded_minor) == (OrderStatus.PAID, 500)


def test_a_failed_refund_that_the_shop_does_not_have_is_shown_once_stripe_says_whose_it_is(
    server: StripeServer, paid: Order, payment: Payment
) -> None:
    for fault in ((500, "api_error", ""), (403, "invalid_request_error", "")):
        server.faults = [fault]
        answer = send_webhook(failed_on_site("re_9", 700))
        assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "provider_unreachable", "5")
    send_webhook(failed_on_site("re_9", 700))
    assert (status_of(paid), paid.attention) == (OrderStatus.PAID, "refund_fails")
    # Another shop with the same account at Stripe.
    server.sessions.clear()
    assert send_webhook(failed_on_site("re_10", 500)).status_code == 200
    assert PaymentEvent.objects.filter(kind="refund_failed").count() == 1


def test_a_refund_is_paid_once_under_another_key_after_an_error_that_stripe_repeats(
    server: StripeServer, order: Order, part: Refund
) -> None:
    # Given an error of Stripe's own, and then a call under another key whose answer was lost
    server.faults = [None, None, FAILURE]
    assert tasks.move_refunds() == 0
    make_due(Refund)
    server.lost_answers = 1
    assert tasks.move_refunds() == 0
    first, repeated, other = [asked.idempotency_key for asked in server.asked if asked.form.get("amount") == "500"]
    assert first == repeated == f"refund-{part.pk}"
    assert other.startswith(f"{first}-")
    # When the sweep asks again
    make_due(Refund)
    assert tasks.move_refunds() == 1
    # Then it finds the refund in Stripe's list
    assert len(server.refunds) == 1
    assert part_state(part, order) == ("refunded", OrderStatus.PAID, 500)


def part_event(part: Refund, payment: Payment, type_: str, status: str) -> dict[str, Any]:
    known = {"refund": str(part.pk), "part_of": str(payment.pk)}
    return refund_event(payment, type_, object="refund", status=status, metadata=known) | {"id": f"evt_{status}"}


def test_a_slow_part_is_completed_by_its_event_alone(
    server: StripeServer, order: Order, payment: Payment, part: Refund
) -> None:
    server.refund_status = "pending"
    assert tasks.move_refunds() == 0
    # The charge names the sum of its refunds: ours is in it already.
    send_webhook(refund_event(payment, "charge.refunded", refunded=False, amount_refunded=500))
    assert part_state(part, order) == ("due", OrderStatus.PAID, 500)
    send_webhook(part_event(part, payment, "refund.updated", "succeeded"))
    assert part_state(part, order) == ("refunded", OrderStatus.PAID, 500)


def test_which_refusals_of_a_refund_are_an_answer(server: StripeServer, provider: StripeProvider, part: Refund) -> None:
    # The list of refunds could not be read, so an earlier call may have paid.
    server.faults = [None, (401, "invalid_request_error", "")]
    with pytest.raises(ProviderUnreachable):
        provider.refund(refund=part)
    server.faults = [None, None, (400, "invalid_request_error", "")]
    with pytest.raises(ProviderRefused):
        provider.refund(refund=part)
    # Of a payment that all goes back, its last part is asked for without an amount: nothing is left.
    assert part.payment is not None
    part.payment.status = Payment.Status.REFUND_DUE
    server.faults = [None, None, (400, "invalid_request_error", "charge_already_refunded")]
    assert provider.refund(refund=part).answer is RefundAnswer.DONE
    # Any other refusal of it is none of that.
    server.faults = [None, None, (400, "invalid_request_error", "charge_disputed")]
    with pytest.raises(ProviderRefused):
        provider.refund(refund=part)


def refund_at_stripe(status: str, **metadata: str) -> dict[str, Any]:
    return {"id": "re_1", "object": "refund", "status": status, "amount": 1900, "metadata": metadata}


@pytest.mark.usefixtures("whole")
def test_a_refund_that_the_release_before_had_asked_for_is_found(
    server: StripeServer, order: Order, payment: Payment
) -> None:
    """Its name was that of the payment, and the answer was lost."""
    server.refunds.append(refund_at_stripe("succeeded", payment=str(payment.pk)))
    assert tasks.move_refunds() == 1
    assert len(server.refunds) == 1
    assert status_of(order) == OrderStatus.REFUNDED


def test_a_whole_refund_that_failed_is_made_again_under_a_new_key(
    server: StripeServer, order: Order, whole: Refund
) -> None:
    """The old key would return the first refund as it was before it failed."""
    server.refunds.append(refund_at_stripe("failed", refund=str(whole.pk)))
    assert tasks.move_refunds() == 1
    assert server.asked[-1].idempotency_key == f"refund-{whole.pk}-again"
    assert status_of(order) == OrderStatus.REFUNDED


def test_which_errors_are_a_refusal_and_which_are_no_answer(
    server: StripeServer, provider: StripeProvider, payment: Payment
) -> None:
    for status, type_, error in (
        (500, "api_error", ProviderUnreachable),
        (429, "invalid_request_error", ProviderUnreachable),
        (409, "idempotency_error", ProviderUnreachable),
        (401, "invalid_request_error", ProviderRefused),
        (400, "invalid_request_error", ProviderRefused),
    ):
        server.faults = [(status, type_, "")]
        asked = len(server.asked)
        with pytest.raises(error):
            provider.open_session(payment=payment)
        # The client must not retry by itself.
        assert len(server.asked) == asked + 1, status
