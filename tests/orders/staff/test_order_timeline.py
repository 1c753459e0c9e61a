"""The page of an order tells all that happened in one list, in the order of time, and who of the staff did it."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders import tasks
from orders.models import Order, OrderNote
from orders.staff.order_timeline import NOTES_MAX
from seckill.models import SaleItem
from tests.steps.buying import order_of, with_address
from tests.steps.staff import ORDERS, admin_page, messages_on, press_button, record_payment

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def order(buyer: User, item: SaleItem) -> Order:
    with_address(buyer)
    return order_of(item, buyer)


def add_note(client: Client, order: Order, text: str, note_id: str = "") -> Any:
    return client.post(f"{ORDERS}{order.pk}/notes/", {"note_id": note_id or uuid4(), "text": text})


def told(client: Client, order: Order) -> list[Any]:
    moments: list[Any] = client.get(admin_page(order)).context["moments"]
    return moments


def test_an_order_is_told_from_its_placing_to_the_refund(client: Client, order: Order) -> None:
    # Given an order that was paid, sent, noted and refunded in part
    record_payment(client, order)
    tasks.send_mails()
    press_button(client, order, "ship", carrier="SF Express", tracking_number="SF123456789")
    add_note(client, order, "Called about the colour.")
    press_button(client, order, "refund", refund_id=str(uuid4()), amount="5.00", reason="scratched")
    # Then its page tells it in this order
    moments = told(client, order)
    assert [moment.at for moment in moments] == sorted(moment.at for moment in moments)
    heads = [moment.what for moment in moments if not moment.what.startswith(("Mail", "Invoice"))]
    assert heads == ["Placed", "Payment recorded", "Parcel sent", "Note", "Refund"]
    # And each step of the staff is told once, with its person
    assert {moment.by for moment in moments if moment.what in heads[1:]} == {"manager"}
    sent = next(moment for moment in moments if moment.what == "Parcel sent")
    assert "Sent with SF Express SF123456789." in sent.text
    refund = moments[-1]
    assert "scratched" in refund.text
    assert refund.tone == "wait"
    mails = {moment.what: moment for moment in moments if moment.what.startswith("Mail")}
    assert (mails["Mail: confirmation"].text, mails["Mail: shipped"].text) == ("sent", "due")


def test_a_cancelled_order_says_so_once_and_by_whom(client: Client, order: Order) -> None:
    press_button(client, order, "cancel")
    ended = [moment for moment in told(client, order) if "ancelled" in moment.what + moment.text]
    assert [(moment.what, moment.by, moment.tone) for moment in ended] == [("Cancelled", "manager", "bad")]


def test_a_note_has_its_author_outlives_the_account_and_is_for_the_staff_alone(
    client: Client, order: Order, buyer: User
) -> None:
    add_note(client, order, "Called twice <b>about</b> it.")
    note = OrderNote.objects.get()
    assert str(note.made_by) == "manager"
    page = client.get(admin_page(order)).content.decode()
    assert "Called twice &lt;b&gt;about&lt;/b&gt;" in page
    assert "by manager" in page
    gone = User.objects.create_user("gone", is_staff=True)
    OrderNote.objects.create(order=order, text="By somebody who left.", made_by=gone)
    gone.delete()
    assert "By somebody who left." in client.get(admin_page(order)).content.decode()
    client.force_login(buyer)
    assert "Called twice" not in client.get(order.get_absolute_url()).content.decode()


def test_a_note_that_is_sent_twice_is_kept_once_with_its_order_and_an_empty_one_is_asked_for_again(
    client: Client, order: Order, rival: User, item: SaleItem
) -> None:
    note_id = str(uuid4())
    for _ in range(2):
        assert messages_on(add_note(client, order, "Called.", note_id)) == ["The note is saved."]
    add_note(client, order_of(item, rival), "Moved to another order.", note_id)
    assert [(note.order_id, note.text) for note in OrderNote.objects.all()] == [(order.pk, "Called.")]
    assert "This field is required." in add_note(client, order, "  ").content.decode()
    assert add_note(client, order, "x" * 5001).status_code == 200
    assert OrderNote.objects.count() == 1


def test_no_more_notes_are_read_than_a_person_can(client: Client, order: Order) -> None:
    OrderNote.objects.bulk_create(OrderNote(order=order, text=f"note {number}") for number in range(NOTES_MAX + 5))
    assert sum(moment.is_note for moment in told(client, order)) == NOTES_MAX
