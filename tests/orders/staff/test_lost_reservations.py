"""Staff see each receipt that could not be honoured, and say what they did about it."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.models import RefusedReceipt
from seckill.models import SaleItem
from tests.steps.staff import LOOK_AT, employee, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

PAGE = f"{LOOK_AT}without-an-order/"
DONE = "Sent a voucher"


@pytest.fixture
def refused(item: SaleItem, buyer: User) -> RefusedReceipt:
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


def say(client: Client, row: RefusedReceipt, **fields: str) -> Any:
    return client.post(PAGE, {"receipt": str(row.pk), "done": DONE} | fields, follow=True)


def test_the_list_names_the_buyer_what_was_promised_and_why_it_was_not_kept(
    client: Client, refused: RefusedReceipt, buyer: User
) -> None:
    page = client.get(PAGE).content.decode()
    for text in (buyer.username, str(refused.pk), "3 × CN¥19.00", "Longjing tea", "its units were sold to others"):
        assert text in page
    assert "There are none" not in page
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    page = client.get(PAGE).content.decode()
    assert "丢失的预留" in page
    assert "其间商品已售予他人" in page


def test_the_solution_is_written_into_the_history_once_without_the_name_of_the_buyer(
    client: Client, refused: RefusedReceipt, item: SaleItem, buyer: User
) -> None:
    response = say(client, refused)
    assert messages_on(response) == ["Removed from the list, and written into the history."]
    assert "Lost reservations" not in response.content.decode()
    entry = LogEntry.objects.get()
    assert entry.object_id == str(item.pk)
    assert entry.change_message == f"Lost reservation {refused.pk}: {DONE}"
    assert buyer.username not in entry.change_message
    assert messages_on(say(client, refused)) == ["Somebody else has removed it already."]
    assert LogEntry.objects.count() == 1


def test_a_form_that_says_nothing_or_names_nothing_changes_nothing(client: Client, refused: RefusedReceipt) -> None:
    for fields in ({"done": " "}, {"done": "x" * 301}, {"receipt": "-"}, {"receipt": "9" * 40}):
        response = say(client, refused, **fields)
        assert response.context["form"].errors, fields
        assert ("Say what was done." in response.content.decode()) == (fields == {"done": " "})
    assert RefusedReceipt.objects.get().done_at is None


def test_staff_who_may_only_see_orders_read_the_list_and_remove_nothing(
    client: Client, refused: RefusedReceipt
) -> None:
    client.force_login(employee("view_order"))
    page = client.get(PAGE).content.decode()
    assert str(refused.pk) in page
    assert "Remove from the list" not in page
    assert say(client, refused).status_code == 403
    assert RefusedReceipt.objects.get().done_at is None
