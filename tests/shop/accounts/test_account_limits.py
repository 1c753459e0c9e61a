"""How often accounts are made and new passwords asked for: atomic, and the same whether or not there is an account."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from shop.accounts.limits import may_get_mail
from tests.steps.accounts import confirmed, one_mail, send_mails, sign_up, turn_on
from tests.steps.at_once import at_once

pytestmark = pytest.mark.django_db


def ask_for_password(email: str, *, prefix: str = "", **headers: Any) -> Any:
    return Client().post(f"{prefix}/accounts/password/reset/", {"email": email}, **headers)


def test_sign_ups_from_one_address_are_limited_and_the_page_says_for_how_long(settings: Settings, buyer: User) -> None:
    settings.SIGN_UP_LIMIT = "3/10minutes"
    # So is trying which names are taken.
    answers = [sign_up(Client(), username=name) for name in ("new-1", "new-2", "buyer")]
    assert [answer.status_code for answer in answers] == [302, 302, 200]
    assert "already exists" in answers[2].content.decode()
    limited = sign_up(Client(), username="one-more")
    assert limited.status_code == 429
    assert 1 <= int(limited["Retry-After"]) <= 600
    assert "Too many attempts" in limited.content.decode()
    assert "尝试次数过多" in sign_up(Client(), username="one-more", prefix="/zh-hans").content.decode()
    assert Client().get("/accounts/signup/").status_code == 200
    assert not User.objects.filter(username="one-more").exists()


def test_one_mailbox_gets_few_mails_whoever_asks(buyer: User) -> None:
    confirmed(buyer, "buyer@example.com")
    for email in ("buyer@example.com", "nobody@example.com"):
        answers = [
            ask_for_password(spelling, REMOTE_ADDR=f"192.0.2.{number}")
            for number, spelling in enumerate([email, email.upper(), f" {email}", email])
        ]
        assert [answer.status_code for answer in answers] == [302, 302, 302, 429], email
        assert 1 <= int(answers[-1]["Retry-After"]) <= 900
        assert len(send_mails()) == 3, email


@pytest.mark.django_db(transaction=True)  # the mails are written after the commit
def test_a_stranger_whose_address_an_account_has_gets_few_mails_and_the_owner_of_one_gets_all() -> None:
    """Each spelling of the address is another account's, and somebody makes recovery codes there again and again."""
    for number in range(3):
        person = User.objects.create_user(f"new-{number}", password="manager-password")
        EmailAddress.objects.create(user=person, email=f"stranger+{number}@example.com", primary=True)
        client = Client()
        client.force_login(person)
        turn_on(client)
        for _ in range(5):
            client.post("/accounts/2fa/recovery-codes/generate/")
    assert len(send_mails()) == 10
    EmailAddress.objects.filter(user=person).update(verified=True)
    client.post("/accounts/2fa/recovery-codes/generate/")
    assert one_mail().subject == "New recovery codes"


def test_an_account_has_mails_sent_to_few_strangers_and_its_former_address_hears_of_a_change(buyer: User) -> None:
    strangers = [f"stranger-{number}@example.com" for number in range(11)]
    assert [may_get_mail(email, user=buyer, is_former=False) for email in strangers] == [True] * 10 + [False]
    assert may_get_mail("buyer@example.com", user=buyer, is_former=True)


def test_one_client_asks_for_few_mailboxes(settings: Settings) -> None:
    settings.PASSWORD_RESET_LIMIT_BY_ADDRESS = "5/10minutes"
    statuses = [ask_for_password(f"{number}@example.com").status_code for number in range(7)]
    assert statuses == [302] * 5 + [429] * 2
    assert ask_for_password("other@example.com", REMOTE_ADDR="198.51.100.7").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_of_twenty_requests_at_once_three_pass() -> None:
    statuses = at_once([lambda: ask_for_password("mine@example.com").status_code] * 20)
    assert sorted(statuses) == [302] * 3 + [429] * 17
    assert len(send_mails()) == 3


def test_one_address_is_asked_to_confirm_once_in_three_minutes() -> None:
    for number in range(3):
        assert sign_up(Client(), username=f"new-{number}", email="mine@example.com").status_code == 302
    assert len(send_mails()) == 1
