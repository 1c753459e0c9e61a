"""Staff see each yes that became no order, with its buyer and its cause, and say what they did about it."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from orders.life import intake
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
    (letter,) = letters_of(item)
    return letter


def letters_of(item: SaleItem) -> list[DeadLetter]:
    return dead_letters.read(item_ids=[item.pk], count_max=10)[item.pk]


def say(client: Client, listed: DeadLetter, **fields: str) -> Any:
    return client.post(PAGE, {"item": listed.item_id, "letter": listed.id, "done": DONE} | fields, follow=True)


def test_the_list_names_the_buyer_and_the_cause(client: Client, letter: DeadLetter, buyer: User) -> None:
    assert PAGE in client.get(LOOK_AT).content.decode()
    page = client.get(PAGE).content.decode()
    for text in (buyer.username, buyer.email, letter.fields["reservation"], "Longjing tea", "ValueError"):
        assert text in page
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    assert "没有订单的预留" in client.get(PAGE).content.decode()


def test_a_buyer_without_an_account_is_a_number(client: Client, letter: DeadLetter, buyer: User) -> None:
    buyer.delete()
    assert f"No such account. {letter.fields['buyer']}" in client.get(PAGE).content.decode()


def test_the_solution_is_written_into_the_history_and_the_letter_leaves(
    client: Client, letter: DeadLetter, item: SaleItem
) -> None:
    response = say(client, letter)
    assert messages_on(response) == ["Removed from the list, and written into the history."]
    assert "There are none. Every yes became an order." in response.content.decode()
    assert letters_of(item) == []
    entry = LogEntry.objects.get()
    assert entry.object_id == str(item.pk)
    for text in (DONE, letter.fields["reservation"], "ValueError"):
        assert text in entry.change_message
    # When somebody else says so too, then it is written once
    assert messages_on(say(client, letter)) == ["Somebody else has removed it already."]
    assert LogEntry.objects.count() == 1


def test_a_form_that_says_nothing_or_names_nothing_changes_nothing(
    client: Client, letter: DeadLetter, item: SaleItem
) -> None:
    assert "Say what was done." in say(client, letter, done=" ").content.decode()
    wrong = {"done": ["x" * 301], "letter": ["-", "0-0 COUNT 1"], "item": ["x", "-1"]}
    for name, value in [(name, value) for name, values in wrong.items() for value in values]:
        response = say(client, letter, **{name: value})
        assert response.context["form"].errors, (name, value)
        assert "Say what was done." not in response.content.decode()
    assert letters_of(item) == [letter]
    assert not LogEntry.objects.exists()


def test_staff_who_may_only_see_orders_read_the_list_and_remove_nothing(
    client: Client, letter: DeadLetter, item: SaleItem
) -> None:
    client.force_login(employee("view_order"))
    assert "Remove from the list" not in client.get(PAGE).content.decode()
    assert say(client, letter).status_code == 403
    assert letters_of(item) == [letter]


def test_the_page_says_what_it_does_not_know_while_the_store_is_away(
    client: Client, letter: DeadLetter, settings: Settings
) -> None:
    store_away(settings)
    assert messages_on(say(client, letter)) == [
        "The reservation store does not answer. Nothing was removed; try again."
    ]
    page = client.get(PAGE).content.decode()
    assert "there may be more than you see here" in page
    assert "There are none" not in page
    assert not LogEntry.objects.exists()
