"""What a person does with an account, through the pages; and the mails that Celery would send."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.test import Client

from shop.accounts import mail_queue

PASSWORD = "a-good-long-password"
ADMIN_SIGN_IN = "/accounts/login/?next=/admin/"


def sign_up(client: Client, *, username: str = "newcomer", email: str = "new@example.com", prefix: str = "") -> Any:
    form = {"username": username, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client.post(f"{prefix}/accounts/signup/", form)


def sign_in(client: Client, *, login: str, password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/accounts/login/", {"login": login, "password": password, **more})


def send_mails() -> list[EmailMessage]:
    """Sends what is queued, and gives what arrived by it."""
    before = len(mail.outbox)
    mail_queue.send_due(seconds_max=10)
    return mail.outbox[before:]


def one_mail() -> EmailMultiAlternatives:
    (message,) = send_mails()
    assert isinstance(message, EmailMultiAlternatives)
    return message


def link_in(message: EmailMessage) -> str:
    """The path of the link of a mail."""
    address: str
    (address,) = re.findall(r"(?:: |：)(https?://\S+)", str(message.body))
    return urlsplit(address).path


def confirmed(user: User, email: str) -> User:
    """Gives a user a confirmed address."""
    user.email = email
    user.save(update_fields=["email"])
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user


def enter_password_again(client: Client, password: str) -> None:
    answer = client.post("/accounts/reauthenticate/", {"password": password})
    assert answer.status_code == 302


def is_signed_in(client: Client) -> bool:
    return client.get("/orders/").status_code == 200


def code_of(secret: str) -> str:
    """The code of the step before, so that the next sign-in of a test has a fresh one. No code is good twice."""
    code: str = format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time())))
    return code


def latest_code_of(secret: str) -> str:
    """The code of the step after, which is valid for at least a minute more."""
    *_, latest = yield_hotp_counters_from_time()
    code: str = format_hotp_value(hotp_value(secret, latest))
    return code


def age_used_codes(*, seconds: int) -> None:
    """Makes the notes about used codes this much older."""
    for key in cache.keys("*totp.used*"):  # type: ignore[attr-defined]
        cache.expire(key, max(cache.ttl(key) - seconds, 0))  # type: ignore[attr-defined]


def enter_password(client: Client, *, password: str = "manager-password") -> str:
    """Where the sign-in page for the admin leads."""
    form = {"login": "manager", "password": password, "next": "/admin/"}
    answer = client.post(ADMIN_SIGN_IN, form)
    return answer.get("Location", "")


def turn_on(client: Client, *, code: Callable[[str], str] = code_of) -> tuple[str, list[str]]:
    """Turns the second factor on as a person does, with this code of the secret. The secret, and the recovery codes."""
    page = client.get("/accounts/2fa/totp/activate/", follow=True)
    assert page.redirect_chain[0][0].startswith("/accounts/reauthenticate/")
    page = client.post(page.redirect_chain[0][0], {"password": "manager-password"}, follow=True)
    secret = re.findall(r"<code>([A-Z2-7]+)</code>", page.content.decode())[0]
    page = client.post("/accounts/2fa/totp/activate/", {"code": code(secret)}, follow=True)
    codes = re.findall(r"<code>(\d{8})</code>", page.content.decode())
    assert len(codes) == 10
    return secret, codes
