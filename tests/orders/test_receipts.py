"""`POST /api/v1/receipts/`: a reservation that the store has lost comes back once, while units are left."""

from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from orders.account.person_data import person_data
from orders.life import intake, lifecycle
from orders.models import Order, OrderStatus, RefusedReceipt
from orders.repair.audit import audit
from orders.repair.reconcile import reconcile
from orders.units.taken import take
from seckill import ledger
from seckill.items import item_state
from seckill.ledger_words import ReleaseReason
from seckill.models import Sale, SaleItem
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.passes import passes, receipts
from shop.models import Product
from tests.shop.http.schema_client import promised_headers
from tests.steps.at_once import at_once
from tests.steps.buying import new_buyers, reserve, reserve_by_api, reserve_often, signed_in
from tests.steps.cast import PassFor
from tests.steps.shop import make_item, text_of
from tests.steps.store import figures, store_away

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/receipts/"
Reason = RefusedReceipt.Reason


@pytest.fixture
def receipt(item: SaleItem, buyer: User, pass_for: PassFor) -> str:
    """Of a yes that is not an order yet."""
    return receipt_of(item, pass_for(buyer, item))


def receipt_of(item: SaleItem, pass_text: str, units: int = 1) -> str:
    answer = reserve_by_api(item.pk, pass_text, {"units": units})
    assert answer.status_code == 201
    return str(answer.json()["receipt"])


def reservation_of(receipt: str) -> UUID:
    return receipts.read(receipt).reservation_id


def lose(item: SaleItem) -> None:
    """The store loses all that it has of the item, and the shop compares what is left with the orders."""
    item_state.remove(item_id=item.pk)
    reconcile(item_id=item.pk, rebuild=True)


def bring(buyer: User, text: object) -> Any:
    return signed_in(buyer).post(ADDRESS, {"receipt": text})


def status_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["status"]


def code_of(answer: Any) -> tuple[int, str]:
    assert answer["Content-Type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def test_a_lost_reservation_comes_back_and_becomes_the_order(item: SaleItem, buyer: User, receipt: str) -> None:
    # Given a yes that the store has lost
    told = receipts.read(receipt)
    status_url = f"/api/v1/reservations/{told.reservation_id}/"
    lose(item)
    assert signed_in(buyer).get(status_url).status_code == 404

    # When its buyer brings the receipt
    answer = bring(buyer, receipt)

    # Then it is held again
    assert (answer.status_code, answer["Location"]) == (201, status_url)
    assert ["Location" in promised_headers("bring_receipt", status) for status in (200, 201)] == [False, True]
    assert answer.json()["status"] == "reserved"
    assert answer.json() == signed_in(buyer).get(status_url).json()
    assert figures(item) == (4, 1, 0, 0)

    # And becomes the order that was promised
    assert intake.drain_once(item_id=item.pk) == 1
    order = Order.objects.get()
    assert (order.reservation_id, order.buyer, order.amount_minor) == (told.reservation_id, buyer, told.price_minor)
    assert round(order.expires_at.timestamp() * 1000) == told.deadline_ms
    assert (order.expires_at - order.reserved_at).total_seconds() == 900
    assert figures(item) == (4, 1, 0, 1)
    assert audit(item_id=item.pk).comparison.problem_count == 0
    assert not RefusedReceipt.objects.exists()


def test_bringing_it_again_does_nothing_more(item: SaleItem, buyer: User, receipt: str) -> None:
    # In the outbox it is not lost.
    assert status_of(bring(buyer, receipt)) == (200, "reserved")
    assert figures(item) == (4, 1, 0, 0)
    lose(item)
    assert status_of(bring(buyer, receipt)) == (201, "reserved")
    assert status_of(bring(buyer, receipt)) == (200, "reserved")
    intake.drain_once(item_id=item.pk)
    assert status_of(bring(buyer, receipt)) == (200, "awaiting_payment")
    assert figures(item) == (4, 1, 0, 1)


def end(order: Order, status: OrderStatus) -> None:
    """The order ends in this way."""
    if status is OrderStatus.CANCELLED:
        lifecycle.cancel(order_id=order.pk)
    else:
        lifecycle.pay(order_id=order.pk)
    if status is OrderStatus.REFUND_DUE:
        lifecycle.refund(order_id=order.pk, units_back=True)


@pytest.mark.parametrize("status", ["paid", "cancelled", "refund_due", "rejected"])
def test_an_ended_order_is_not_revived_even_if_the_store_has_forgotten_it(
    item: SaleItem, buyer: User, receipt: str, status: str
) -> None:
    # An account that is blocked gets a rejected order.
    User.objects.filter(pk=buyer.pk).update(is_active=status != "rejected")
    intake.drain_once(item_id=item.pk)
    if status != "rejected":
        end(Order.objects.get(), OrderStatus(status))
    for is_lost in (False, True):
        if is_lost:
            lose(item)
        before = figures(item)
        assert status_of(bring(buyer, receipt)) == (200, status)
        assert figures(item) == before
    assert Order.objects.get().status == status


def test_a_hold_that_was_released_without_an_order_stays_released(item: SaleItem, buyer: User, receipt: str) -> None:
    # As intake does with an entry that can never become an order, which staff see in their list.
    reservation_ids = [reservation_of(receipt)]
    ledger.release(item_id=item.pk, reservation_ids=reservation_ids, reason=ReleaseReason.REJECTED)
    assert status_of(bring(buyer, receipt)) == (200, "rejected")
    assert figures(item) == (5, 0, 0, 0)


def test_units_that_others_were_promised_since_are_not_taken_from_them(
    item: SaleItem, buyer: User, receipt: str
) -> None:
    # Given that all units were sold again, of which PostgreSQL knows nothing yet
    lose(item)
    others = reserve_often(item, 5)
    # When the buyer comes twice
    for _ in range(2):
        assert code_of(bring(buyer, receipt)) == (409, "reservation_lost")
    # Then the others keep them, and staff see it once
    assert intake.drain_once(item_id=item.pk) == 5
    assert not Order.objects.filter(status=OrderStatus.REJECTED).exists()
    row = RefusedReceipt.objects.get()
    assert (row.pk, row.buyer, row.item, row.units) == (reservation_of(receipt), buyer, item, 1)
    assert (row.reason, row.price_minor, row.currency, row.done_at) == (Reason.UNITS_GONE, 1900, "CNY", None)
    # The buyer's copy of all that the shop keeps has it too.
    assert [kept["reservation_id"] for kept in person_data(buyer)["lost_reservations"]] == [row.pk]
    # And units that come back can be had.
    lifecycle.cancel(order_id=Order.objects.get(reservation_id=others[0]).pk)
    assert status_of(bring(buyer, receipt)) == (201, "reserved")
    assert not RefusedReceipt.objects.exists()


def test_postgresql_says_no_where_it_has_no_units_or_another_price(item: SaleItem, buyer: User, receipt: str) -> None:
    lose(item)
    SaleItem.objects.filter(pk=item.pk).update(taken=5)
    assert code_of(bring(buyer, receipt)) == (409, "reservation_lost")
    assert RefusedReceipt.objects.get().reason == Reason.UNITS_GONE
    RefusedReceipt.objects.all().delete()
    SaleItem.objects.filter(pk=item.pk).update(taken=0, price_minor=1901)
    lose(item)
    assert code_of(bring(buyer, receipt)) == (409, "reservation_lost")
    assert RefusedReceipt.objects.get().reason == Reason.PRICE_DIFFERS


def test_another_reservation_of_the_buyer_counts_for_the_limit(item: SaleItem, buyer: User, receipt: str) -> None:
    lose(item)
    reserve(item, buyer)
    answer = bring(buyer, receipt)
    assert code_of(answer) == (409, "limit_reached")
    assert (answer.json()["remaining"], answer.json()["per_buyer_max"]) == (0, 1)
    # The buyer has all that one may have, so nobody has to look.
    assert not RefusedReceipt.objects.exists()


def test_a_sale_that_is_paused_or_over_keeps_its_word(item: SaleItem, buyer: User, receipt: str) -> None:
    changes: list[dict[str, Any]] = [
        {"paused": True},
        {"closes_at": "2020-01-02T00:00Z", "opens_at": "2020-01-01T00:00Z"},
    ]
    for change in changes:
        Sale.objects.filter(pk=item.sale_id).update(**{"paused": False, **change})
        lose(item)
        assert status_of(bring(buyer, receipt)) == (201, "reserved"), change


def test_a_sale_that_is_long_over_has_nothing_to_give(item: SaleItem, buyer: User, receipt: str) -> None:
    item_state.remove(item_id=item.pk)
    SaleItem.objects.filter(pk=item.pk).update(archived_at="2020-01-01T00:00Z")
    assert code_of(bring(buyer, receipt)) == (409, "reservation_lost")
    assert RefusedReceipt.objects.get().reason == Reason.SALE_OVER
    # An item that was deleted leaves no row.
    RefusedReceipt.objects.all().delete()
    item.delete()
    assert code_of(bring(buyer, receipt)) == (409, "reservation_lost")
    assert not RefusedReceipt.objects.exists()


def test_a_yes_whose_deadline_has_passed_can_be_paid_for_some_time(
    item: SaleItem, buyer: User, settings: Settings
) -> None:
    pass_ = passes.Pass(item.pk, buyer.pk, passes.new_reservation_id(item.pk))
    long_ago = ledger.Reservation(Outcome.RESERVED, 0, 1, 1_000_000_000_000, 1900, "CNY")
    text = receipts.issue(pass_=pass_, reservation_id=str(pass_.reservation_id), reservation=long_ago)
    assert status_of(bring(buyer, text)) == (201, "reserved")
    intake.drain_once(item_id=item.pk)
    order = Order.objects.get()
    seconds = (order.expires_at - order.created_at).total_seconds()
    assert seconds == pytest.approx(settings.SECKILL_PAY_SECONDS_MIN, abs=2)


def test_while_the_item_is_compared_or_the_store_is_away_the_buyer_tries_again(
    item: SaleItem, buyer: User, receipt: str, settings: Settings
) -> None:
    for state in ("wiped", "unverified", "away"):
        if state == "wiped":
            item_state.remove(item_id=item.pk)
        elif state == "unverified":
            reconcile(item_id=item.pk, rebuild=True)
            item_state.mark_unverified(item_id=item.pk)
        else:
            store_away(settings)
        answer = bring(buyer, receipt)
        assert code_of(answer) == (503, "unavailable"), state
        assert int(answer["Retry-After"]) > 0, state
    assert not RefusedReceipt.objects.exists()
    assert not Order.objects.exists()


def test_a_receipt_is_its_buyers_alone(client: Client, item: SaleItem, rival: User, receipt: str) -> None:
    lose(item)
    assert client.post(ADDRESS, {"receipt": receipt}, content_type="application/json").status_code == 401
    assert code_of(bring(rival, receipt)) == (403, "receipt_of_another_buyer")
    assert figures(item) == (5, 0, 0, 0)


def test_a_text_that_is_no_receipt_is_refused(buyer: User, receipt: str, settings: Settings) -> None:
    settings.PASS_LIMIT = "100/minute"
    for text in ("", "r1.", "x" * 301, "x" * 300, 5, None, ["r1"], "r1.\x00", "１" * 20):
        answer = signed_in(buyer).post(ADDRESS, {"receipt": text}, format="json")
        assert answer.status_code == 400, text
        assert answer.json()["code"] in ("invalid", "receipt_invalid")
    answer = signed_in(buyer).post(ADDRESS, {"receipt": receipt, "units": 9}, format="json")
    assert code_of(answer) == (400, "invalid"), "an unknown field"


def test_receipts_are_tried_only_so_often(item: SaleItem, buyer: User, receipt: str, settings: Settings) -> None:
    settings.PASS_LIMIT = "2/minute"
    assert [bring(buyer, text).status_code for text in (receipt, "forged", receipt)] == [200, 400, 429]
    # Passes have a count of their own.
    assert signed_in(buyer).post(f"/api/v1/sale-items/{item.pk}/passes/").status_code == 201


def test_an_order_that_a_worker_writes_meanwhile_is_found(
    item: SaleItem, buyer: User, receipt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a worker that read the entry before the loss, and writes the order while the receipt is being looked at
    entries = outbox.read_batch(item_id=item.pk, count_max=10)
    lose(item)
    really = ledger.readmit

    def late(**asked: Any) -> Any:
        answer = really(**asked)
        new_orders = [intake.parse_entry(entry) for entry in entries]
        intake.insert_orders(item_id=item.pk, new_orders=new_orders, status=OrderStatus.AWAITING_PAYMENT)
        take(item_id=item.pk, units=1)
        lifecycle.cancel(order_id=Order.objects.get().pk)
        return answer

    monkeypatch.setattr(ledger, "readmit", late)
    # When the receipt has brought back what has just ended
    assert status_of(bring(buyer, receipt)) == (201, "cancelled")
    # Then the item is compared again, and its unit is free
    assert item_state.conditions(item_ids=[item.pk]) == {item.pk: item_state.Condition.UNVERIFIED}
    intake.drain_once(item_id=item.pk)
    reconcile(item_id=item.pk)
    assert figures(item) == (5, 0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_of_many_calls_at_once_one_brings_it_back(item: SaleItem, buyer: User, receipt: str) -> None:
    lose(item)
    answers = at_once([partial(bring, buyer, receipt)] * 8)
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert figures(item) == (4, 1, 0, 0)
    assert intake.drain_once(item_id=item.pk) == 1
    assert Order.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_more_receipts_than_units_exactly_as_many_come_back_as_there_are_units(
    product: Product, pass_for: PassFor
) -> None:
    # Given ten yeses of which the store has lost all, and six units
    item = make_item(product, quantity=10)
    calls = [partial(bring, buyer, receipt_of(item, pass_for(buyer, item))) for buyer in new_buyers(10)]
    SaleItem.objects.filter(pk=item.pk).update(quantity=6)
    lose(item)
    # When all come at once
    answers = at_once(calls)
    # Then
    assert sorted(answer.status_code for answer in answers) == [201] * 6 + [409] * 4
    assert figures(item) == (0, 6, 0, 0)
    assert RefusedReceipt.objects.count() == 4
    intake.drain_once(item_id=item.pk)
    assert figures(item) == (0, 6, 0, 6)


# --- without JavaScript ---


def page_of(receipt: str) -> str:
    return f"/reservations/{reservation_of(receipt)}/?receipt={receipt}"


def test_the_form_leads_to_a_page_that_brings_a_lost_reservation_back(
    as_buyer: Client, item: SaleItem, buyer: User, pass_for: PassFor
) -> None:
    pass_text = pass_for(buyer, item)
    page = as_buyer.post(f"/sale-items/{item.pk}/reserve/", {"pass": pass_text, "units": "1"})["Location"]
    assert page == page_of(page.partition("?receipt=")[2])
    # A repeated yes has the same receipt.
    assert page.endswith(receipt_of(item, pass_text))
    assert "We are creating your order" in text_of(as_buyer, page)
    lose(item)
    assert as_buyer.get(page.partition("?")[0]).status_code == 404
    assert "Bring my reservation back" in text_of(as_buyer, page)
    assert "恢复我的预留" in text_of(as_buyer, f"/zh-hans{page}")
    answer = as_buyer.post(page)
    assert (answer.status_code, answer["Location"]) == (302, page)
    assert "We are creating your order" in text_of(as_buyer, page)
    intake.drain_once(item_id=item.pk)
    assert as_buyer.get(page)["Location"] == Order.objects.get().get_absolute_url()
    assert as_buyer.post(page)["Location"] == Order.objects.get().get_absolute_url()


def test_the_page_says_why_it_cannot(as_buyer: Client, item: SaleItem, receipt: str, settings: Settings) -> None:
    lose(item)
    others = reserve_often(item, 5)
    page = page_of(receipt)
    assert "its units have gone since" in as_buyer.post(page, follow=True).content.decode()
    ledger.release(item_id=item.pk, reservation_ids=others, reason=ReleaseReason.EXPIRED)
    reserve(item, User.objects.get(username="buyer"))
    assert "You have reached the limit of 1 per buyer." in as_buyer.post(page, follow=True).content.decode()
    store_away(settings)
    assert "try again" in as_buyer.post(page, follow=True).content.decode()
    settings.PASS_LIMIT = "1/minute"
    assert [as_buyer.post(page).status_code for _ in range(2)] == [302, 429]


def test_without_a_receipt_or_with_that_of_another_buyer_or_reservation_there_is_no_page(
    client: Client, rival: User, item: SaleItem, receipt: str
) -> None:
    lose(item)
    client.force_login(rival)
    assert client.get(page_of(receipt)).status_code == 404
    assert client.post(page_of(receipt)).status_code == 404
    client.force_login(User.objects.get(username="buyer"))
    other = passes.new_reservation_id(item.pk)
    assert client.get(f"/reservations/{other}/?receipt={receipt}").status_code == 404
    for text in ("", "r1.x", "x" * 5_000):
        page = f"/reservations/{reservation_of(receipt)}/?receipt={text}"
        assert [client.get(page).status_code, client.post(page).status_code] == [404, 404], text
