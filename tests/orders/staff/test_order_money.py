"""The page of an order adds up, shows all its money, and says "refunded" only of money that is paid back."""

import re
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.test import Client
from django.utils.html import strip_tags

from orders.life import lifecycle
from orders.models import Order, OrderLine, OrderStatus, RecordedPayment, Refund
from shop.models import Product, Variant
from tests.steps.buying import plain_order, with_address
from tests.steps.staff import ORDERS, messages_on, press_button, record_payment

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def order(buyer: User, product: Product) -> Order:
    """Three units of 129.00 and one of 187.00, sent for 12.00: 586.00 in all, with taxes."""
    with_address(buyer)
    tea = Variant.objects.get(product=product)
    pot = Variant.objects.create(product=Product.objects.create(name="Pot", slug="pot"), sku="POT", price_minor=18700)
    Variant.objects.update(available=5, held=3)
    order = plain_order(
        tea, buyer, 3, 12900, amount_minor=58600, shipping_minor=1200, shipping_name="Standard", shipping_tax_percent=13
    )
    OrderLine.objects.create(order=order, variant=pot, units=1, unit_price_minor=18700)
    OrderLine.objects.update(tax_percent=13)
    return order


@pytest.fixture
def paid(client: Client, order: Order) -> Order:
    record_payment(client, order, "586.00")
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    return order


def refund(client: Client, order: Order, amount: str, **sent: Any) -> Any:
    """`units` are those of each line in their order."""
    units = dict(zip((f"units-{line.pk}" for line in order.lines.all()), sent.pop("units", ()), strict=False))
    return press_button(client, order, "refund", refund_id=str(uuid4()), amount=amount, **units, **sent)


def page_of(client: Client, order: Order) -> str:
    return client.get(f"{ORDERS}{order.pk}/change/").content.decode()


def sums_on(page: str) -> list[str]:
    table = re.search(r'<table class="order-sums">.*?</table>', page, re.S)
    assert table
    return [" ".join(strip_tags(row).split()) for row in re.findall(r"<tr.*?</tr>", table[0], re.S)]


def paid_back(client: Client, order: Order, **sent: Any) -> Any:
    page = client.get(f"{ORDERS}{order.pk}/paid-back/now/").content.decode()
    shown = re.findall(r'name="refunds" value="([^"]+)"', page)
    return press_button(client, order, "paid-back", **{"refunds": shown, "reference": "BACK-1", **sent})


def test_lines_delivery_taxes_and_refunds_add_up(client: Client, paid: Order, shop_manager: User) -> None:
    recorded = RecordedPayment.objects.get()
    assert (recorded.order, recorded.amount_minor, recorded.reference) == (paid, 58600, "TX-1")
    assert recorded.made_by == shop_manager
    assert sums_on(page_of(client, paid)) == [
        "Products 574.00 CNY",
        "Delivery · Standard 12.00 CNY",
        "Total 586.00 CNY",
        "of which 13% tax 67.42 CNY",
    ]
    refund(client, paid, "20.00")
    refund(client, paid, "30.00")
    assert sums_on(page_of(client, paid))[4:] == [
        "Refund that staff have to pay −20.00 CNY",
        "Refund that staff have to pay −30.00 CNY",
        "Total after refunds 536.00 CNY",
    ]
    # The list says it too.
    assert re.search(r"586\.00 CNY.*50\.00 CNY", client.get(ORDERS).content.decode(), re.S)


def test_an_order_whose_lines_cost_something_else_says_how_much(client: Client, order: Order) -> None:
    Order.objects.update(amount_minor=58000)
    assert "Difference -6.00 CNY" in sums_on(page_of(client, order))


def test_money_for_an_order_whose_amount_changes_meanwhile_is_not_recorded(
    client: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a buyer who chooses another delivery after the form was checked, before the order is locked
    def choose_delivery(**_given: Any) -> set[UUID]:
        Order.objects.update(amount_minor=60100, shipping_minor=2700)
        return set()

    monkeypatch.setattr(lifecycle, "sold_in_the_store", choose_delivery)
    # When staff record the amount that was due before
    answer = record_payment(client, order, "586.00")
    # Then nothing is recorded, and staff read why
    assert "its amount had changed" in messages_on(answer)[0]
    order.refresh_from_db()
    assert (order.status, order.amount_minor) == (OrderStatus.AWAITING_PAYMENT, 60100)
    assert not RecordedPayment.objects.exists()


def test_payments_that_were_recorded_before_become_rows(order: Order, shop_manager: User) -> None:
    of_orders = {"content_type": ContentType.objects.get_for_model(Order), "user": shop_manager, "action_flag": CHANGE}
    for text in ("Payment recorded: 586.00 CNY, reference “OLD “7””.", "已登记收款：586.00 CNY，流水号“OLD “7””。"):
        LogEntry.objects.all().delete()
        RecordedPayment.objects.all().delete()
        entry = LogEntry.objects.create(**of_orders, object_id=str(order.pk), object_repr="x", change_message=text)
        LogEntry.objects.create(**of_orders, object_id=str(order.pk), object_repr="x", change_message="Shipped.")
        LogEntry.objects.create(**of_orders, object_id="999999", object_repr="gone", change_message=text)
        for _ in range(2):
            import_module("orders.migrations.0008_money_by_staff").rows_of_before(apps, None)
        row = RecordedPayment.objects.get()
        assert (row.order, row.amount_minor, row.reference, row.made_by) == (order, 58600, "OLD “7”", shop_manager)
        assert row.recorded_at == entry.action_time


def test_units_go_back_on_sale_for_their_price_and_no_more_is_refunded_than_can_be(client: Client, paid: Order) -> None:
    for amount in ("586.01", "1E+999999", "-1E+999999", "1E-2000000", "-1", "0", "1.999"):
        errors = refund(client, paid, amount).context["form"].errors
        assert errors["amount"] == ["Enter an amount above zero, and at most 586.00 CNY."], amount
    for wrong, of, why in (
        ("500.00", ["1"], "back on sale cost"),
        ("20.00", ["", ""], "No units would go back on sale"),
    ):
        assert why in refund(client, paid, wrong, units=of, units_back="on").content.decode()
        assert not Refund.objects.exists()
    # The delivery may be part of it.
    for amount, units in (("141.00", ["1"]), ("387.00", ["3", "0"])):
        with transaction.atomic():
            refund(client, paid, amount, units=units, units_back="on")
            assert Refund.objects.exists(), amount
            transaction.set_rollback(True)


def test_another_amount_needs_a_tick(client: Client, paid: Order) -> None:
    # Given a form without the tick
    assert 'type="checkbox" name="other_amount"' not in client.get(f"{ORDERS}{paid.pk}/refund/now/").content.decode()
    # When staff refund a little for many units
    page = refund(client, paid, "1.00", units=["3", "1"], units_back="on").content.decode()
    # Then the page names both amounts, and asks
    assert "The units that go back on sale cost 574.00 CNY, and you refund 1.00 CNY." in page
    assert re.search(r'<input[^>]*type="checkbox"[^>]*name="other_amount"', page)
    # And with the tick it is done
    refund(client, paid, "1.00", units=["3", "1"], units_back="on", other_amount="on")
    assert Refund.objects.get().amount_minor == 100
    # Units that stay sold are named for any amount.
    refund(client, paid, "2.00", units=["0", "0"])
    assert Refund.objects.count() == 2


def test_a_refund_of_a_colleague_since_the_page_was_shown_is_named_first(client: Client, paid: Order) -> None:
    shown = client.get(f"{ORDERS}{paid.pk}/refund/now/").context["form"]
    refund(client, paid, "30.00")
    form = refund(client, paid, "30.00", refunded_minor=shown["refunded_minor"].value()).context["form"]
    assert "they are 30.00 CNY now. Press the button once more" in form.non_field_errors()[0]
    assert Refund.objects.count() == 1
    refund(client, paid, "30.00", refunded_minor=form["refunded_minor"].value())
    assert Refund.objects.count() == 2


def test_no_more_is_refunded_than_was_asked_for_if_an_earlier_refund_fails_at_that_moment(
    client: Client, paid: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    refund(client, paid, "86.00")
    real = lifecycle.refund

    def after_failure(**asked: Any) -> bool:
        lifecycle.mark_refund_failed(paid, lost_minor=8600)
        return real(**asked)

    monkeypatch.setattr(lifecycle, "refund", after_failure)
    said = messages_on(refund(client, paid, "500.00"))
    assert "Nothing was refunded: the order has changed meanwhile." in said
    assert Refund.objects.get().amount_minor == 8600


def test_refunded_is_said_once_staff_have_paid_the_money_back(client: Client, paid: Order) -> None:
    # Given a whole refund of money that staff had recorded
    answer = refund(client, paid, "586.00", units_back="on")
    assert messages_on(answer) == [
        "Refund of 586.00 CNY.",
        "Pay this money back to the buyer now, then press “Refund paid back”.",
    ]
    # Then the order is not refunded yet, the buyer has no mail of it, and the list finds it
    paid.refresh_from_db()
    owed = Refund.objects.get()
    assert (paid.status, owed.status, owed.ended_at) == (OrderStatus.REFUND_DUE, Refund.Status.DUE, None)
    assert not paid.mails.filter(refund=owed).exists()
    assert client.get(ORDERS, {"refund": "owed"}).context["cl"].result_count == 1
    # When staff have paid it
    assert "586.00 CNY" in client.get(f"{ORDERS}{paid.pk}/paid-back/now/").content.decode()
    assert messages_on(paid_back(client, paid)) == ["1 refund is marked as paid back."]
    # Then it is
    paid.refresh_from_db()
    owed.refresh_from_db()
    assert (paid.status, owed.status, owed.provider_reference) == ("refunded", "refunded", "BACK-1")
    assert owed.ended_at is not None
    assert paid.mails.filter(refund=owed).count() == 1
    assert client.get(ORDERS, {"refund": "owed"}).context["cl"].result_count == 0
    assert "Refunded −586.00 CNY" in sums_on(page_of(client, paid))
    assert "586.00 CNY paid back, reference “BACK-1”." in client.get(f"{ORDERS}{paid.pk}/history/").content.decode()
    # And a second press changes nothing
    assert "no refund that staff have to pay" in messages_on(press_button(client, paid, "paid-back", reference="X"))[0]


def test_only_refunds_that_the_page_showed_are_marked_as_paid(client: Client, paid: Order) -> None:
    refund(client, paid, "10.00")
    first = Refund.objects.get()
    refund(client, paid, "20.00")
    again = paid_back(client, paid, refunds=[str(first.pk)], reference="").content.decode()
    assert "You have paid 10.00 CNY back to the buyer." in again
    paid_back(client, paid, refunds=[str(first.pk)])
    assert dict(Refund.objects.values_list("amount_minor", "status")) == {1000: "refunded", 2000: "due"}
    # The order stays as it is.
    paid.refresh_from_db()
    assert paid.status == OrderStatus.PAID


def test_a_refund_through_the_payment_company_is_not_for_staff(client: Client, paid: Order) -> None:
    paid.payments.create(
        provider="simulated", idempotency_key="k", status="captured", amount_minor=58600, currency="CNY"
    )
    answer = refund(client, paid, "20.00")
    assert messages_on(answer) == ["Refund of 20.00 CNY."]
    assert "Refund on its way −20.00 CNY" in sums_on(page_of(client, paid))
    assert f"{ORDERS}{paid.pk}/paid-back/now/" not in page_of(client, paid)


def test_stripe_is_not_asked_for_a_refund_that_it_cannot_pay(client: Client, paid: Order) -> None:
    # Given dinars, of which Stripe pays no thousandths
    Order.objects.update(currency="KWD")
    captured = paid.payments.create(
        provider="stripe", idempotency_key="k", status="captured", amount_minor=58600, currency="KWD"
    )
    answer = refund(client, paid, "0.005")
    assert "Stripe takes amounts in KWD only with 0 as their last decimal." in answer.content.decode()
    assert not Refund.objects.exists()
    assert messages_on(refund(client, paid, "0.010")) == ["Refund of 0.010 KWD."]
    # What staff pay back themselves may be any amount.
    Refund.objects.all().delete()
    captured.delete()
    refund(client, paid, "0.005")
    assert Refund.objects.get().amount_minor == 5
