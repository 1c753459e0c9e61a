"""On the page of an order staff do what its status allows: the page asks first and says what was done, or why not."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from orders.life import lifecycle
from orders.mails.message import message_of
from orders.models import Mail, Order, OrderLine, OrderNote, OrderStatus
from orders.staff.order_page import STEPS, OrderPage
from orders.staff.order_search import find_orders
from seckill.models import SaleItem
from shop.models import Product, Variant
from tests.steps.buying import make_orders, order_of, plain_order, with_address
from tests.steps.paying import make_events, refund_part
from tests.steps.shop import goods, statements_for
from tests.steps.staff import (
    ORDERS,
    admin_page,
    messages_on,
    press_button,
    record_payment,
    slips_page,
    staff_pay_back,
)
from tests.steps.store import figures

PAY_NOW = "Pay this money back to the buyer now, then press “Refund paid back”."

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def order(buyer: User, item: SaleItem) -> Order:
    User.objects.filter(pk=buyer.pk).update(email="someone@example.com")
    return order_of(item, buyer)


def step_url(order: Order, step: str) -> str:
    return f"{ORDERS}{order.pk}/{step}/now/"


def buttons_on_page(client: Client, order: Order) -> list[str]:
    page = client.get(f"{ORDERS}{order.pk}/change/").content.decode()
    return [step for step in STEPS if step_url(order, step) in page]


def test_the_buttons_are_those_that_the_status_allows(client: Client, order: Order) -> None:
    assert buttons_on_page(client, order) == ["record-payment", "cancel"]
    for status, buttons in (
        (OrderStatus.PAID, ["ship", "refund"]),
        (OrderStatus.SHIPPED, ["complete", "refund"]),
        (OrderStatus.EXPIRED, []),
    ):
        Order.objects.update(status=status, ended_at=order.created_at)
        assert buttons_on_page(client, order) == buttons, status


def test_each_button_asks_first_and_leads_back_to_the_order(client: Client, order: Order) -> None:
    for status, step, words in (
        (OrderStatus.AWAITING_PAYMENT, "record-payment", "19.00 CNY is due."),
        (OrderStatus.AWAITING_PAYMENT, "cancel", "Cancel 1 order?"),
        (OrderStatus.PAID, "ship", "The goods have left."),
        (OrderStatus.PAID, "refund", "At most 19.00 CNY."),
        (OrderStatus.SHIPPED, "complete", "The buyer has received the goods."),
    ):
        ended_at = None if status == OrderStatus.AWAITING_PAYMENT else order.created_at
        Order.objects.update(status=status, ended_at=ended_at)
        page = client.get(step_url(order, step)).content.decode()
        for text in (words, order.shown_code, f'href="{ORDERS}{order.pk}/change/"'):
            assert text in page, (step, text)
        assert Order.objects.get().status == status


def test_a_change_and_its_line_in_the_history_are_kept_together(
    client: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*said: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(OrderPage, "log_change", die)
    for status, step, amount in (
        (OrderStatus.AWAITING_PAYMENT, "cancel", ""),
        (OrderStatus.PAID, "ship", ""),
        (OrderStatus.SHIPPED, "complete", ""),
        (OrderStatus.SHIPPED, "refund", "19.00"),
        (OrderStatus.SHIPPED, "refund", "1.00"),
    ):
        Order.objects.update(status=status, ended_at=None if step == "cancel" else order.created_at)
        with pytest.raises(SystemExit):
            press_button(client, order, step, refund_id=str(uuid4()), amount=amount)
        order.refresh_from_db()
        assert (order.status, order.refunds.count()) == (status, 0), step


def ask_refund(client: Client, order: Order, amount: str, **sent: Any) -> Any:
    return press_button(client, order, "refund", refund_id=str(uuid4()), amount=amount, **sent)


def test_a_whole_refund_puts_the_units_back_on_sale_where_staff_say_so(
    client: Client, order: Order, item: SaleItem
) -> None:
    record_payment(client, order)
    answer = ask_refund(client, order, "19.00", reason="broken", units_back="on")
    assert messages_on(answer) == ["Refund of 19.00 CNY. broken", PAY_NOW]
    order.refresh_from_db()
    assert (figures(item), order.status) == ((5, 0, 0, 0), OrderStatus.REFUND_DUE)
    assert "broken" in client.get(f"{ORDERS}{order.pk}/change/").content.decode()


def test_parts_of_an_order_that_was_sent_are_refunded_until_nothing_is_left(
    client: Client, order: Order, item: SaleItem
) -> None:
    record_payment(client, order)
    press_button(client, order, "ship")
    line = order.lines.get()
    answer = ask_refund(client, order, "5.00", **{f"units-{line.pk}": "1"})
    assert messages_on(answer) == ["Refund of 5.00 CNY.", PAY_NOW]
    order.refresh_from_db()
    assert (order.status, order.refunded_minor) == (OrderStatus.SHIPPED, 500)
    # A form that is sent twice refunds once.
    sent = {"refund_id": str(order.refunds.get().pk), "amount": "5.00"}
    answer = press_button(client, order, "refund", **sent)
    assert messages_on(answer) == ["This refund was made before; it is not made twice."]
    assert order.refunds.count() == 1
    assert "at most 14.00 CNY." in ask_refund(client, order, "14.01").content.decode()
    ask_refund(client, order, "14.00")
    order.refresh_from_db()
    assert (order.status, order.refunded_minor) == (OrderStatus.REFUND_DUE, 1900)
    assert figures(item) == (4, 0, 1, 1)


def test_cancelling_puts_the_units_back_and_is_not_possible_any_more(
    client: Client, order: Order, item: SaleItem
) -> None:
    # Given two managers with the same page, of whom one cancels
    assert messages_on(press_button(client, order, "cancel")) == ["1 order is cancelled."]
    item.refresh_from_db()
    assert item.taken == 0
    # When the other one presses the button, or sends the form
    for send in (client.get, client.post):
        answer = send(step_url(order, "cancel"), {"confirmed": "yes"})
        assert messages_on(answer) == [f"1 order was not cancelled: it was not awaiting payment. ({order.shown_code})"]


def test_an_unknown_button_or_order_is_404(client: Client, order: Order) -> None:
    assert client.get(step_url(order, "explode")).status_code == 404
    assert client.get(f"{ORDERS}{order.pk + 1}/cancel/now/").status_code == 404


@pytest.mark.usefixtures("rival")
def test_an_order_is_found_by_address_name_number_and_sale(client: Client, order: Order, item: SaleItem) -> None:
    number, code = str(order.number), order.code
    said = f"{code[:4].lower()} {code[4:]}"
    people = ("someone@example.com", "SOMEONE@", "example.com", "buyer")
    for text in (*people, number, number[:8], number.replace("-", ""), code, said):
        assert find_orders(Order.objects.all(), text).get() == order, text
    for text in ("rival", "nobody@example.com", "ffffffff-0000", "zzz", "%"):
        assert not find_orders(Order.objects.all(), text).exists(), text
    for text, count in ((said, 1), ("zzz", 0)):
        assert client.get(ORDERS, {"q": text}).context["cl"].result_count == count, text
    for sale_id, count in ((item.sale_id, 1), (item.sale_id + 1, 0)):
        of_sale = {"lines__sale_item__sale__id__exact": sale_id}
        assert client.get(ORDERS, of_sale).context["cl"].result_count == count
    # And that of a guest by the address, which its pages show.
    Order.objects.update(buyer=None, email="guest@example.org", reservation_id=None)
    assert find_orders(Order.objects.all(), "guest@example.org").exists()
    for page in (ORDERS, f"{ORDERS}{order.pk}/change/"):
        assert "guest@example.org" in client.get(page).content.decode()


def test_shipping_keeps_carrier_and_tracking_number_which_can_be_corrected_later(client: Client, order: Order) -> None:
    tracking = f"{ORDERS}{order.pk}/tracking/"
    record_payment(client, order)
    assert [client.get(tracking).status_code, client.post(tracking, {"carrier": "X"}).status_code] == [404, 404]
    assert "at most 100 characters" in press_button(client, order, "ship", tracking_number="x" * 101).content.decode()
    assert Order.objects.get().status == OrderStatus.PAID
    answer = press_button(client, order, "ship", carrier=" SF Express ", tracking_number="SF 1234 5678")
    assert (messages_on(answer), answer.url) == (["1 order is marked as shipped."], f"{ORDERS}{order.pk}/change/")
    order.refresh_from_db()
    assert (order.status, order.carrier, order.tracking_number) == (OrderStatus.SHIPPED, "SF Express", "SF 1234 5678")
    assert order.shipped_at is not None
    assert "SF 1234 5678" in client.get(f"{ORDERS}{order.pk}/change/").content.decode()
    assert "SF 1234 5678" in client.get(tracking).content.decode()
    answer = client.post(tracking, {"carrier": "EMS", "tracking_number": "right"})
    assert messages_on(answer) == ["The tracking number is saved."]
    order.refresh_from_db()
    assert (order.carrier, order.tracking_number) == ("EMS", "right")
    assert "Shipped. Sent with SF Express SF 1234 5678." in client.get(f"{ORDERS}{order.pk}/history/").content.decode()


def test_a_part_that_was_refunded_before_shipping_is_not_sent(client: Client, buyer: User, item: SaleItem) -> None:
    # Given three tins and a pot, of which one tin and the pot were refunded
    pot = Variant.objects.create(product=Product.objects.create(name="Pot", slug="pot"), sku="POT", price_minor=500)
    order = plain_order(item.variant, buyer, 3, 1900, status=OrderStatus.PAID, ended_at=timezone.now())
    OrderLine.objects.create(order=order, variant=pot, units=1, unit_price_minor=500)
    Order.objects.update(amount_minor=6200)
    with_address(buyer)
    tins, pots = order.lines.all()
    refund_part(order, 2400, units_of_line={tins.pk: 1, pots.pk: 1})
    # Then the slip has the two tins that go into the parcel
    slip = client.get(slips_page(order)).content.decode()
    assert re.search(r'Longjing tea</td><td class="units">2</td>', slip)
    assert "Pot" not in slip
    # And so do the list, the page that asks before shipping, the mails and the buyer's page
    for page in (ORDERS, step_url(order, "ship")):
        assert re.search(r"2 × Longjing tea(?!, 1 × Pot)", client.get(page).content.decode())
    staff_pay_back(order)
    assert lifecycle.ship(order_id=order.pk)
    subjects = [message.subject for message in map(message_of, order.mails.order_by("pk")) if message]
    assert subjects == ["Refund: 1 × Longjing tea, 1 × Pot", "On its way: 2 × Longjing tea"]
    sent = message_of(order.mails.get(kind=Mail.Kind.SHIPPED))
    assert sent is not None
    assert "3 × CN¥19.00 · 1 refunded = CN¥57.00" in sent.body
    client.force_login(buyer)
    assert re.search(r"3 × CN¥19.00\s+· 1 refunded", client.get(order.get_absolute_url()).content.decode())


def test_the_page_of_an_order_takes_as_many_queries_for_many_rows(
    client: Client, order: Order, buyer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    lifecycle.pay(order_id=order.pk)
    make_events([order])
    page = admin_page(order)
    client.get(page)
    # The person, the order, its lines, pictures, payments, refunds, documents, mails, notes, events and history, and
    # two counts for the sidebar.
    with django_assert_num_queries(13):
        client.get(page)
    for number in range(3):
        OrderNote.objects.create(order=order, text="called", made_by=buyer)
        LogEntry.objects.log_actions(buyer.pk, [order], CHANGE, "Looked at.")
        OrderLine.objects.create(order=order, variant=goods(f"more-{number}"), units=1, unit_price_minor=100)
        refund_part(order, 100)
        staff_pay_back(order)
    with django_assert_num_queries(13):
        client.get(page)


def test_the_page_of_a_person_takes_as_many_queries_for_many_orders(
    client: Client, order: Order, buyer: User, item: SaleItem
) -> None:
    page = admin_page(buyer)
    few = statements_for(client, page)
    make_orders(3, buyer=buyer, item=item)
    assert statements_for(client, page) == few
