"""Staff see each yes that became no order or was lost, with its buyer and its cause, and say what they did about it."""

from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from orders.life import intake
from orders.models import RefusedReceipt
from seckill.models import SaleItem
from seckill.outbox import dead_letters
from seckill.outbox.dead_letters import DeadLetter
from seckill.store.keys import keys_of
from tests.steps.staff import LOOK_AT, employee, messages_on
from tests.steps.store import store_away

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

PAGE = f"{LOOK_AT}without-an-order/"
DONE = "Refunded in the bank, told by mail"


@pytest.fixture
def letter(item: SaleItem, buyer: User, store: Any) -> DeadLetter:
    """A reservation of the buyer whose units nobody can read."""
    store.xadd(keys_of(item.pk).outbox, {"reservation": str(uuid4()), "buyer": str(buyer.pk), "units": "many"})
    assert intake.drain_once(item_id=item.pk) == 1
    (letter,) = dead_letters.read(item_ids=[item.pk], count_max=10)[item.pk]
    return letter


@pytest.fixture
def refused(item: SaleItem, buyer: User) -> RefusedReceipt:
    """A receipt that could not be honoured."""
    return RefusedReceipt.objects.create(
        reservation_id=uuid4(),
        item=item,
        buyer=buyer,
        units=3,
        price_minor=1900,
        currency="CNY",
        deadline=timezone.now(),
        reason=RefusedReceipt.Reason.UNITS_GONE,
    )


class Listed(NamedTuple):
    """An entry of the page: the fields that name it in a form, and what the history says, which is no buyer's name."""

    reservation: str
    fields: dict[str, Any]
    history: str


WRONG_FIELDS = {
    "letter": [{"letter": "0-0 COUNT 1"}, {"item": "-1"}],
    "receipt": [{"receipt": "-"}, {"receipt": "9" * 40}],
}


@pytest.fixture(params=["letter", "receipt"])
def listed(request: pytest.FixtureRequest) -> Listed:
    if request.param == "receipt":
        row: RefusedReceipt = request.getfixturevalue("refused")
        return Listed(str(row.pk), {"receipt": str(row.pk)}, f"Lost reservation {row.pk}: {DONE}")
    letter: DeadLetter = request.getfixturevalue("letter")
    history = f"Reservation without an order, {letter.fields}, {letter.error}: {DONE}"
    return Listed(letter.fields["reservation"], {"item": letter.item_id, "letter": letter.id}, history)


def say(client: Client, listed: Listed, **fields: str) -> Any:
    return client.post(PAGE, {**listed.fields, "done": DONE, **fields}, follow=True)


def text_of(client: Client) -> str:
    return client.get(PAGE).content.decode()


def test_the_list_names_the_buyer_what_was_promised_and_the_cause(
    client: Client, letter: DeadLetter, refused: RefusedReceipt, buyer: User
) -> None:
    assert PAGE in client.get(LOOK_AT).content.decode()
    page = text_of(client)
    for text in (buyer.username, buyer.email, letter.fields["reservation"], "Longjing tea", "ValueError"):
        assert text in page
    for text in (str(refused.pk), "3 × CN¥19.00", "its units were sold to others"):
        assert text in page
    assert "There are none" not in page
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    page = text_of(client)
    for text in ("没有订单的预留", "丢失的预留", "其间商品已售予他人"):
        assert text in page
    # The word for a buyer on invoices
    assert "买方" not in page
    buyer.delete()
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "en"
    assert f"No such account. {letter.fields['buyer']}" in text_of(client)


def test_the_solution_is_written_into_the_history_and_the_letter_leaves(
    client: Client, listed: Listed, item: SaleItem
) -> None:
    # Given forms that say nothing or name nothing, which change nothing
    kind = "receipt" if "receipt" in listed.fields else "letter"
    for fields in ({"done": " "}, {"done": "x" * 301}, *WRONG_FIELDS[kind]):
        response = say(client, listed, **fields)
        assert response.context["form"].errors, fields
        assert ("Say what was done." in response.content.decode()) == (fields == {"done": " "})
    assert listed.reservation in text_of(client)
    assert not LogEntry.objects.exists()
    # When staff say what they did
    response = say(client, listed)
    assert messages_on(response) == ["Removed from the list, and written into the history."]
    assert "There are none. Every yes became an order." in response.content.decode()
    assert listed.reservation not in text_of(client)
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (str(item.pk), listed.history)
    # When somebody else says so too, then it is written once
    assert messages_on(say(client, listed)) == ["Somebody else has removed it already."]
    assert LogEntry.objects.count() == 1


def test_staff_who_may_only_see_orders_read_the_list_and_remove_nothing(client: Client, listed: Listed) -> None:
    client.force_login(employee("view_order"))
    assert "Remove from the list" not in text_of(client)
    assert say(client, listed).status_code == 403
    assert listed.reservation in text_of(client)


def test_the_page_says_what_it_does_not_know_while_the_store_is_away(
    client: Client, letter: DeadLetter, settings: Settings
) -> None:
    store_away(settings)
    form = {"item": letter.item_id, "letter": letter.id, "done": DONE}
    assert messages_on(client.post(PAGE, form, follow=True)) == [
        "The reservation store does not answer. Nothing was removed; try again."
    ]
    page = text_of(client)
    assert "there may be more than you see here" in page
    assert "There are none" not in page
    assert not LogEntry.objects.exists()
