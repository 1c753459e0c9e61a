"""A test mail: to the member of staff who asks, by a worker; the pre-flight says what became of it."""

import smtplib
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse
from django.utils import translation
from kombu.exceptions import OperationalError

from orders.preflight import process_looks, trial_mail
from orders.preflight.trial_mail import KEY, ask_for_mail, send_trial_mail
from seckill.models import Sale, SaleItem
from tests.steps.shop import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages that wait for a worker."""
    messages: list[Any] = []
    monkeypatch.setattr(send_trial_mail, "apply_async", lambda args, **_more: messages.append(args))
    return messages


def found() -> tuple[str, str]:
    finding = process_looks.trial_finding(Sale(pk=7))
    return finding.verdict.value, str(finding.text)


def press(client: Client, item: SaleItem) -> str:
    return client.post(reverse("admin:seckill_sale_test_mail", args=[item.sale_id]), follow=True).text


def test_the_button_sends_a_mail_to_the_one_who_presses_it(
    as_manager: Client, shop_manager: User, item: SaleItem, queued: list[Any]
) -> None:
    User.objects.filter(pk=shop_manager.pk).update(email="manager@shop.example")
    page = text_of(as_manager, reverse("admin:seckill_sale_check_before_opening", args=[item.sale_id]))
    assert "Send me a test mail" in page
    assert found()[0] == "warning"
    assert "A test mail to manager@shop.example is on its way." in press(as_manager, item)
    assert found() == ("warning", "The test mail of 0\xa0minutes ago is not sent yet.")
    send_trial_mail(*queued.pop())
    assert [message.to for message in mail.outbox] == [["manager@shop.example"]]
    assert found()[0] == "good"
    assert "manager@" not in found()[1], "other staff read it"


def test_it_is_in_the_language_of_the_one_who_asks_and_forgotten_after_a_week(queued: list[Any]) -> None:
    ask_for_mail(to="a@shop.example", language="zh-hans")
    assert 0 < cache.ttl(KEY) <= trial_mail.KEPT_SECONDS  # type: ignore[attr-defined]
    send_trial_mail(*queued.pop())
    assert "测试邮件" in mail.outbox[0].subject
    with translation.override("zh-hans"):
        assert "邮件服务器已接收" in found()[1]


@pytest.mark.parametrize(
    "error",
    [
        smtplib.SMTPSenderRefused(550, b"not yours", "shop@localhost"),
        ConnectionRefusedError("refused"),
        ValueError("no address"),
    ],
)
def test_a_mail_that_the_server_refuses_is_a_stop(
    error: Exception, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_message: EmailMessage) -> None:
        raise error

    monkeypatch.setattr(EmailMessage, "send", refuse)
    ask_for_mail(to="a@shop.example", language="en")
    send_trial_mail(*queued.pop())
    verdict, text = found()
    assert verdict == "stop"
    assert str(error) in text


def test_nothing_is_sent_without_an_address_or_a_broker_or_by_opening_the_page(
    as_manager: Client, shop_manager: User, item: SaleItem, queued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert as_manager.get(reverse("admin:seckill_sale_test_mail", args=[item.sale_id])).status_code == 405
    User.objects.filter(pk=shop_manager.pk).update(email="")
    assert "Your account has no mail address" in press(as_manager, item)
    User.objects.filter(pk=shop_manager.pk).update(email="manager@shop.example")
    monkeypatch.setattr("orders.preflight.page.ask_for_mail", broker_away)
    assert "so no mail was sent" in press(as_manager, item)
    assert queued == []


def broker_away(**_: str) -> None:
    raise OperationalError
