"""Account mails do not depend on the mail server, and each says the same in both languages and both forms."""

import re
from datetime import timedelta
from html import unescape
from itertools import product
from unittest.mock import Mock

import pytest
from allauth.account.adapter import get_adapter
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone, translation
from pytest_django import Settings
from structlog.testing import capture_logs

from orders import tasks
from shop.accounts import mail_queue
from shop.accounts.mail_texts import CHANGED_BY_STAFF, MAIL_TEXTS, account_message
from shop.local.ports import free_port
from shop.mails.outgoing_mail import Delivery, subject_line
from shop.models import AccountMail
from tests.orders.mails.mail_server import mail_server
from tests.steps.accounts import confirmed, sign_up

pytestmark = pytest.mark.django_db

CHINESE = re.compile(r"[一-鿿]")


def test_a_subject_is_one_line_that_its_column_can_keep() -> None:
    for text, subject in (
        ("Available again:\r\n  Longjing\ttea", "Available again: Longjing tea"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        # A mark counts, although it takes no room of its own.
        ("\u0e01\u0e34" * 101, "\u0e01\u0e34" * 99 + "\u0e01…"),
    ):
        assert subject_line(text) == subject
        assert len(subject) <= (AccountMail._meta.get_field("subject").max_length or 0)


def facts(user: User) -> dict[str, object]:
    return {
        "user": user,
        "email": "buyer@example.com",
        "activate_url": "http://shop.example.com/confirm/",
        "password_reset_url": "http://shop.example.com/reset/",
        "from_email": "old@example.com",
        "to_email": "new@example.com",
        "deleted_email": "old@example.com",
        "former": "old@example.com",
        "timestamp": timezone.now(),
        "ip": "192.0.2.1",
        "user_agent": "<b>Firefox</b>",
    }


def test_a_mail_says_the_same_as_text_and_as_html(buyer: User) -> None:
    for template_prefix, language in product(MAIL_TEXTS, ("en", "zh-hans")):
        with translation.override(language):
            message = account_message(template_prefix, to="buyer@example.com", facts=facts(buyer))
        text, html = str(message.body), str(message.alternatives[0][0])
        assert "<b>" not in html
        words = unescape(re.sub(r"<title>.*?</title>|<[^>]+>", " ", html))
        for line in filter(None, re.split(r"[\n：]|: ", text)):
            assert line in words or line == settings.SHOP_URL, (template_prefix, line)
        assert (language == "en") is not bool(CHINESE.search(text + str(message.subject))), template_prefix
        assert not re.search(r"你|example\.com\]", text + str(message.subject)), template_prefix
        assert f'<html lang="{language}">' in html
        # A button only where it leads somewhere.
        assert 'href=""' not in html
        assert html.count('class="button"') == (template_prefix != CHANGED_BY_STAFF), template_prefix
        assert ":" not in text.splitlines()
        assert "\n\n\n" not in text


def test_an_attempt_that_did_not_happen_is_not_counted_below_zero(client: Client) -> None:
    sign_up(client)
    claimed = mail_queue.claim_next()
    assert claimed is not None
    AccountMail.objects.update(attempts=0)
    server_away = Mock(**{"open.side_effect": ConnectionRefusedError("away")})
    assert mail_queue.deliver(claimed, server_away) is Delivery.NO_ANSWER
    assert AccountMail.objects.get().attempts == 0


def test_a_mail_server_that_is_away_is_not_noticed_by_who_signs_up(client: Client, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", free_port(), 1
    assert sign_up(client).status_code == 302
    with capture_logs() as logs:
        assert tasks.send_mails() == 0
    assert [line["event"] for line in logs] == ["account_mails_wait_for_server"]
    waiting = AccountMail.objects.get()
    assert waiting.attempts == 0
    with mail_server() as server:
        settings.EMAIL_PORT = server.port
        assert tasks.send_mails() == 0  # not due yet
        AccountMail.objects.update(next_attempt_at=timezone.now())
        assert tasks.send_mails() == 1
        (received,) = server.received
    assert received["To"] == "new@example.com"
    assert received["Message-ID"] == f"<account.{waiting.uid}@127.0.0.1>"
    assert received["Auto-Submitted"] == "auto-generated"
    assert not AccountMail.objects.exists()  # its link opens an account


def test_a_refused_mail_is_tried_again_and_then_given_up(client: Client, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    sign_up(client, email="refused@example.com")
    with mail_server() as server, capture_logs() as logs:
        server.refuses.add("refused@example.com")
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        for _ in range(mail_queue.ATTEMPTS_MAX):
            AccountMail.objects.update(next_attempt_at=timezone.now())
            assert mail_queue.send_due(seconds_max=10) == 0
    assert not AccountMail.objects.exists()
    assert logs[-1]["event"] == "account_mail_given_up"
    assert "refused@example.com" not in str(logs)


def test_a_mail_that_nobody_sent_for_days_is_not_sent_any_more(client: Client) -> None:
    sign_up(client)
    AccountMail.objects.update(created_at=timezone.now() - timedelta(days=4))
    assert mail_queue.send_due(seconds_max=10) == 0
    assert not AccountMail.objects.exists()
    assert not mail.outbox


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_a_mail_once(buyer: User) -> None:
    confirmed(buyer, "buyer@example.com")
    get_adapter().send_mail("account/email/unknown_account", "buyer@example.com", {})
    claimed = mail_queue.claim_next()
    assert claimed is not None
    assert mail_queue.claim_next() is None
    assert connection.in_atomic_block is False
