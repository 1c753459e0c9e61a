"""A message is shown on the next page that can show one, and not if that comes much later."""

import time

import pytest
from django.test import Client

from tests.steps.accounts import sign_up
from tests.steps.staff import messages_on

pytestmark = pytest.mark.django_db

WAITING = "We have sent a mail to"


def test_after_signing_up_the_page_says_at_once_that_a_mail_waits(client: Client) -> None:
    answer = sign_up(client)
    assert answer["Location"] == "/accounts/"
    assert any(WAITING in text for text in messages_on(client.get("/accounts/")))
    assert messages_on(client.get("/accounts/")) == []


def test_a_message_that_could_not_be_shown_in_time_is_not_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(client)
    later = time.time() + 25 * 60
    monkeypatch.setattr("shop.http.fresh_messages.time.time", lambda: later)
    assert messages_on(client.get("/orders/")) == []
