"""Staff read orders, payments and mails, and change orders by actions; nobody can edit or delete one."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from orders.admin import LABELS
from orders.mails import sending
from orders.models import ATTENTION_TO_DO, Attention, Mail, Order, OrderStatus, PaymentEvent
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import EventKind
from orders.staff.needs_attention import EXPLANATIONS, badge
from orders.staff.needs_attention import LABELS as ATTENTION_LABELS
from orders.staff.payment_admin import KINDS, OUTCOMES
from seckill.models import SaleItem
from tests.steps.buying import make_orders, status_of
from tests.steps.paying import message as provider_message
from tests.steps.paying import payment_of, refund_part, send_webhook
from tests.steps.staff import EVENTS, LOOK_AT, MAILS, ORDERS, messages_on
from tests.steps.store import left_held_sold, store_away

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


def chosen(action: str, *orders: Order, **more: str) -> dict[str, Any]:
    return {"action": action, "_selected_action": [order.pk for order in orders], **more}


def received(*orders: Order, amount: str = "19.00", reference: str = "TX-1") -> dict[str, Any]:
    """What the page that asks for the payments of these orders sends."""
    answers = {f"order-{order.pk}-amount": amount for order in orders}
    answers |= {f"order-{order.pk}-reference": reference for order in orders}
    return chosen("record_payment", *orders, confirmed="yes", **answers)


def test_the_list_and_the_page_show_who_bought_what_for_how_much(client: Client, order: Order, item: SaleItem) -> None:
    page = client.get(ORDERS).content.decode()
    for text in (order.shown_code, "buyer", "19.00 CNY", "1 × Longjing tea", "awaiting payment"):
        assert text in page
    page = client.get(f"{ORDERS}{order.pk}/change/").content.decode()
    for text in ("Longjing tea", ">awaiting payment<", reverse("admin:seckill_sale_change", args=[item.sale_id])):
        assert text in page


def test_recording_a_payment_asks_for_amount_and_reference_and_sells_the_unit(
    client: Client, order: Order, item: SaleItem
) -> None:
    page = client.post(ORDERS, chosen("record_payment", order)).content.decode()
    for text in ("Record the payment of 1 order", order.shown_code, "19.00 CNY is due.", "Reference"):
        assert text in page
    for amount, reference, error in (
        ("18.00", "TX-1", "If another amount arrived, settle the difference with the buyer first."),
        ("19.00", " ", "This field is required."),
        ("", "x" * 101, "at most 100 characters"),
        ("nineteen", "TX-1", "Enter a number."),
    ):
        assert error in client.post(ORDERS, received(order, amount=amount, reference=reference)).content.decode()
        assert status_of(order) == OrderStatus.AWAITING_PAYMENT, (amount, reference)
    assert not LogEntry.objects.exists()
    response = client.post(ORDERS, received(order))
    assert messages_on(response) == ["1 order is now paid."]
    assert status_of(order) == OrderStatus.PAID
    assert left_held_sold(item) == (4, 0, 1)


def test_amount_and_reference_are_kept_with_the_payment_or_neither_is(
    client: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the journal cannot be written")

    with monkeypatch.context() as broken:
        broken.setattr("django.contrib.admin.options.ModelAdmin.log_change", fail)
        with pytest.raises(RuntimeError):
            client.post(ORDERS, received(order))
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    client.post(ORDERS, received(order, reference="Bank <b>7</b>"))
    assert LogEntry.objects.get().change_message == "Payment recorded: 19.00 CNY, reference “Bank <b>7</b>”."
    assert "<b>7</b>" not in client.get(f"{ORDERS}{order.pk}/history/").content.decode()
    # A form that is sent twice records one payment.
    client.post(ORDERS, received(order, reference="TX-2"))
    assert LogEntry.objects.count() == 1


def test_staff_cannot_add_edit_or_delete_an_order_nor_see_one_without_permission(client: Client, order: Order) -> None:
    assert client.get(f"{ORDERS}add/").status_code == 403
    assert client.post(f"{ORDERS}{order.pk}/change/", {"status": "paid"}).status_code == 403
    assert client.post(f"{ORDERS}{order.pk}/delete/", {"post": "yes"}).status_code == 403
    assert status_of(order) == OrderStatus.AWAITING_PAYMENT
    client.force_login(User.objects.create_user("packer", is_staff=True))
    for page in (ORDERS, LOOK_AT, EVENTS, MAILS):
        assert client.get(page).status_code == 403, page


def test_a_paid_order_is_shipped_and_then_completed_and_the_history_says_by_whom(
    client: Client, order: Order, settings: Settings
) -> None:
    number, healthy = order.shown_code, settings.CACHES
    # A payment is recorded while the store is down, too.
    store_away(settings)
    client.post(ORDERS, received(order))
    settings.CACHES = healthy
    for action, words in (
        ("cancel_orders", f"1 order was not cancelled: it was not awaiting payment. ({number})"),
        ("complete_orders", f"1 order was not marked as completed: it is not shipped yet. ({number})"),
        ("ship_orders", "1 order is marked as shipped."),
        ("ship_orders", f"1 order was not marked as shipped: it is not paid, or was already shipped. ({number})"),
        ("complete_orders", "1 order is marked as completed."),
    ):
        assert messages_on(client.post(ORDERS, chosen(action, order, confirmed="yes")))[-1] == words
    assert status_of(order) == OrderStatus.COMPLETED
    entries = LogEntry.objects.order_by("pk").values_list("user__username", "object_id", "change_message")
    said = ["Payment recorded: 19.00 CNY, reference “TX-1”.", "Shipped.", "Completed."]
    assert list(entries) == [("manager", str(order.pk), text) for text in said]
    assert "Shipped." in client.get(f"{ORDERS}{order.pk}/history/").content.decode()


def test_a_refund_asks_first_and_keeps_the_units_sold_unless_staff_say_otherwise(
    client: Client, order: Order, item: SaleItem
) -> None:
    client.post(ORDERS, received(order))
    page = client.post(ORDERS, chosen("refund_orders", order)).content.decode()
    for text in ("Refund 1 order?", "Total: 19.00 CNY.", order.shown_code, "recorded by staff"):
        assert text in page
    assert "checked" not in page.partition('<input type="checkbox" name="units_back"')[2].partition(">")[0]
    assert status_of(order) == OrderStatus.PAID
    # The total leaves out what was refunded before.
    refund_part(order, 500)
    assert "Total: 14.00 CNY." in client.post(ORDERS, chosen("refund_orders", order)).content.decode()
    response = client.post(ORDERS, chosen("refund_orders", order, confirmed="yes"))
    assert messages_on(response)[-1] == "1 order is being refunded."
    assert status_of(order) == OrderStatus.REFUND_DUE
    assert left_held_sold(item) == (4, 0, 1)
    assert LogEntry.objects.latest("pk").change_message == "Refunded, units stay sold."


def test_a_refund_takes_the_orders_that_its_page_said_it_would(
    client: Client, order: Order, buyer: User, item: SaleItem
) -> None:
    (paid,) = make_orders(1, buyer=buyer, item=item)
    page = client.post(ORDERS, chosen("refund_orders", order, paid)).content.decode()
    assert "1 of the selected orders is not paid and will not change." in page
    response = client.post(ORDERS, chosen("refund_orders", order, confirmed="yes"))
    assert messages_on(response) == [f"1 order was not refunded: it is not paid. ({order.shown_code})"]
    # The other one is paid while somebody reads the page.
    client.post(ORDERS, received(order))
    posted = re.findall(r'name="_selected_action" value="(\d+)"', page)
    confirmed = {"confirmed": "yes", "units_back": "yes"}
    client.post(ORDERS, {"action": "refund_orders", "_selected_action": posted, **confirmed})
    assert (status_of(paid), status_of(order)) == (OrderStatus.REFUND_DUE, OrderStatus.PAID)
    paid.refresh_from_db()
    assert paid.units_back
    assert LogEntry.objects.latest("pk").change_message == "Refunded, units back on sale."


@pytest.mark.django_db(transaction=True)
def test_the_page_of_an_order_shows_its_payments_events_and_mails(client: Client, order: Order) -> None:
    payment = payment_of(order)
    User.objects.filter(pk=order.reserved_by).update(email="buyer@example.com")
    assert send_webhook(provider_message(payment)).status_code == 200
    User.objects.filter(pk=order.reserved_by).update(email="")
    sending.send_due(seconds_max=10)
    for language, texts in {
        "en": ("19.00 CNY · simulated", "captured", "order paid", "confirmation", "The buyer has no address."),
        "zh-CN": ("已收款", "订单已付款", "付款确认", "买家没有填写邮箱。"),
    }.items():
        page = client.get(f"{ORDERS}{order.pk}/change/", headers={"accept-language": language}).content.decode()
        for text in (payment.provider_reference, *texts):
            assert text in page


@pytest.mark.django_db(transaction=True)
def test_events_and_mails_have_lists_of_their_own(client: Client, order: Order) -> None:
    payment = payment_of(order)
    User.objects.filter(pk=order.reserved_by).update(email="buyer@example.com")
    send_webhook(provider_message(payment))
    send_webhook({**provider_message(payment), "payment": str(uuid4()), "id": "evt_of_a_payment_to_come"})
    for query, count in (({"applied": "no"}, 1), ({"applied": "yes"}, 1)):
        assert client.get(EVENTS, query).context["cl"].result_count == count, query
    assert "waiting for its payment" in client.get(EVENTS).content.decode()
    known, unknown = (f"{EVENTS}{event.pk}/change/" for event in PaymentEvent.objects.order_by("pk"))
    for page in (EVENTS, known):
        assert f'<a href="{ORDERS}{order.pk}/change/"' in client.get(page).content.decode()
    assert client.get(unknown).status_code == 200
    for query, count in (({"state": "due"}, 1), ({"state": "sent"}, 0), ({"q": "buyer"}, 1)):
        assert client.get(MAILS, query).context["cl"].result_count == count, query
    assert client.get(f"{MAILS}{Mail.objects.get().pk}/change/").status_code == 200
    for page_of in (EVENTS, MAILS):
        assert client.get(f"{page_of}add/").status_code == 403


def test_orders_that_need_attention_have_a_list_with_the_reason_until_they_are_resolved(
    client: Client, order: Order
) -> None:
    # Given an order that needs attention, which the sidebar counts
    assert client.get(LOOK_AT).context["cl"].result_count == 0
    Order.objects.update(attention=Attention.REFUND_FAILS)
    page = client.get(LOOK_AT).content.decode()
    assert "The provider does not accept the refund." in page
    assert order.shown_code in page
    assert badge() == "1"
    assert "The provider does not accept the refund." in client.get(f"{ORDERS}{order.pk}/change/").content.decode()
    # When somebody marks it as resolved
    response = client.post(LOOK_AT, chosen("mark_resolved", order), follow=True)
    # Then it is off the list, and the order's history says who and what
    assert messages_on(response) == ["1 order is marked as resolved."]
    assert response.context["cl"].result_count == 0
    assert badge() == ""
    history = client.get(f"{ORDERS}{order.pk}/history/").content.decode()
    assert "Resolved: refund keeps failing." in history
    assert "manager" in history


@pytest.mark.django_db(transaction=True)
def test_orders_that_need_a_person_ring_and_the_others_can_still_be_read(
    client: Client, order: Order, buyer: User, item: SaleItem
) -> None:
    rest, ringing = set(Attention) - set(ATTENTION_TO_DO), len(ATTENTION_TO_DO)
    for code, other in zip(Attention, make_orders(len(Attention), buyer=buyer, item=item), strict=True):
        Order.objects.filter(pk=other.pk).update(attention=code)
    assert badge() == str(ringing)
    assert f"stampede_orders_needing_attention {ringing}.0" in client.get("/metrics").text
    for todo, listed in (({}, set(ATTENTION_TO_DO)), ({"todo": "no"}, rest), ({"todo": "all"}, set(Attention))):
        assert {row.attention for row in client.get(LOOK_AT, todo).context["cl"].result_list} == listed, todo
    for attention in (Attention.REFUND_FAILS, Attention.LATE_PAYMENT_KEPT):
        Order.objects.filter(pk=order.pk).update(attention=attention)
        rings = attention in ATTENTION_TO_DO
        answer = client.get(f"{ORDERS}{order.pk}/change/")
        assert str(EXPLANATIONS[attention]).replace("'", "&#x27;") in answer.content.decode()
        shown = flatten_fieldsets(answer.context["adminform"].fieldsets)
        assert ("reason" in shown, "notice" in shown) == (rings, not rings), attention


def test_every_code_has_a_translated_label() -> None:
    assert set(LABELS) == set(OrderStatus)
    assert set(EXPLANATIONS) == set(Attention)
    assert set(ATTENTION_LABELS) == set(Attention)
    assert set(KINDS) == set(EventKind)
    assert set(OUTCOMES) == set(EventOutcome)


def test_a_product_with_orders_cannot_be_deleted(client: Client, order: Order, item: SaleItem) -> None:
    url = reverse("admin:shop_product_delete", args=[item.variant.product_id])
    response = client.post(url, {"post": "yes"})
    assert messages_on(response) == [
        "“Longjing tea” has orders, so it cannot be deleted. Hide it from the shop instead."
    ]
