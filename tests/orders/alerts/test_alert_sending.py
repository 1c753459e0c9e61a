"""Alerts leave by mail and to a chat, once, and wait for a server that hangs, fails or is away."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.db.models.functions import Now
from pytest_django import Settings

from orders.alerts import alert_sending
from orders.models import AlertMessage
from tests.orders.alerts.chat_server import ChatServer, running_chat
from tests.steps.crash import killed_at

pytestmark = pytest.mark.django_db

Channel = AlertMessage.Channel


@pytest.fixture
def chat(settings: Settings) -> Iterator[ChatServer]:
    with running_chat() as server:
        settings.ALERT_WEBHOOK_URL = server.url
        yield server


def message(channel: AlertMessage.Channel = Channel.WEBHOOK, text: str = "Stampede: Sold out: Tea") -> AlertMessage:
    return AlertMessage.objects.create(channel=channel, text=text, next_attempt_at=Now())


def send() -> int:
    return alert_sending.send_due(seconds_max=20)


def test_a_chat_gets_the_text_once(chat: ChatServer) -> None:
    message()
    assert send() == 1
    assert send() == 0
    assert chat.posted == [{"text": "Stampede: Sold out: Tea"}]
    assert chat.paths == ["/hooks/secret-token?x=1"]
    row = AlertMessage.objects.get()
    assert row.sent_at is not None
    assert row.next_attempt_at is None


def test_the_names_of_products_are_no_markup_of_the_chat(chat: ChatServer) -> None:
    message(text="Sold out: <!channel>")
    send()
    assert chat.posted == [{"text": "Sold out: ‹!channel›"}]


def test_a_message_that_the_chat_does_not_take_is_tried_again_later_and_given_up_in_the_end(
    chat: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    message()
    message()
    for attempts, status in enumerate((500, 404, 302), start=1):
        chat.answer = status
        AlertMessage.objects.update(next_attempt_at=Now())
        assert send() == 0
        row = AlertMessage.objects.order_by("pk")[0]
        assert (row.attempts, row.last_error) == (attempts, f"status {status}")
        assert row.next_attempt_at is not None
        # The second one was not tried, and no redirect was followed.
        assert len(chat.paths) == attempts
    assert "secret-token" not in caplog.text
    AlertMessage.objects.update(attempts=alert_sending.ATTEMPTS_MAX - 1, next_attempt_at=Now())
    send()
    assert AlertMessage.objects.order_by("pk")[0].next_attempt_at is None
    chat.answer = 200
    AlertMessage.objects.update(next_attempt_at=Now())
    assert send() == 2


@pytest.mark.parametrize("answer", ["hang", "trickle"])
def test_a_chat_that_hangs_holds_a_task_for_seconds(
    chat: ChatServer, answer: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(alert_sending, "POST_SECONDS_MAX", 0.5)
    chat.answer = answer
    message()
    began_s = time.monotonic()
    assert send() == 0
    assert time.monotonic() - began_s < 5
    assert AlertMessage.objects.get().attempts == 1
    assert "secret-token" not in caplog.text


def test_a_chat_that_is_away_gets_the_message_when_it_is_back(settings: Settings) -> None:
    settings.ALERT_WEBHOOK_URL = "http://127.0.0.1:1/hooks/secret-token"
    message()
    assert send() == 0
    assert AlertMessage.objects.get().last_error == "ConnectionRefusedError"
    with running_chat() as chat:
        settings.ALERT_WEBHOOK_URL = chat.url
        AlertMessage.objects.update(next_attempt_at=Now())
        assert send() == 1


def test_a_mail_goes_to_all_who_are_named(settings: Settings) -> None:
    settings.ALERT_MAILS = ["ops@example.com", "boss@example.com"]
    message(Channel.MAIL, "Stampede: Sold out: Tea\nhttp://127.0.0.1:8000/admin/")
    assert send() == 1
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["ops@example.com", "boss@example.com"], "Stampede: Sold out: Tea")
    assert "/admin/" in sent.body


def test_the_chat_hears_though_the_mail_server_is_away(chat: ChatServer, settings: Settings) -> None:
    settings.ALERT_MAILS = ["ops@example.com"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 1
    message(Channel.MAIL)
    message()
    assert send() == 1
    waiting = AlertMessage.objects.get(channel=Channel.MAIL)
    assert (waiting.sent_at, waiting.attempts) == (None, 0)
    assert waiting.next_attempt_at is not None


def test_a_worker_that_dies_after_sending_sends_it_again_and_never_loses_it(chat: ChatServer) -> None:
    message()
    with killed_at("alerts.after_send"):
        send()
    assert send() == 0
    AlertMessage.objects.update(next_attempt_at=Now())
    assert send() == 1
    assert len(chat.posted) == 2


def test_a_channel_that_was_switched_off_drops_its_messages(settings: Settings) -> None:
    settings.ALERT_WEBHOOK_URL, settings.ALERT_MAILS = "", []
    message()
    message(Channel.MAIL)
    send()
    assert not AlertMessage.objects.exclude(next_attempt_at=None).exists()


def test_two_workers_send_a_message_once(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    row = message()
    claimed: list[Any] = [alert_sending.claim_next(Channel.WEBHOOK), alert_sending.claim_next(Channel.WEBHOOK)]
    assert [each and each.pk for each in claimed] == [row.pk, None]
