"""Steps of tests about the rules of a sale for a pass."""

from typing import Any

from allauth.account.models import EmailAddress
from altcha import Challenge, Payload, solve_challenge
from django.conf import LazySettings
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from seckill.models import Sale, SaleItem


def guarded_by(item: SaleItem, **rules: Any) -> SaleItem:
    """The item's sale asks for this from now on."""
    Sale.objects.filter(pk=item.sale_id).update(**rules)
    item.sale.refresh_from_db()
    return item


def ask_pass(item: SaleItem, user: User, *, proof: str = "", address: str = "192.0.2.1") -> Any:
    return call(item, user, "passes", {"proof": proof} if proof else {}, address)


def ask_challenge(item: SaleItem, user: User, *, address: str = "192.0.2.1") -> Any:
    return call(item, user, "challenges", {}, address)


def call(item: SaleItem, user: User, what: str, body: dict[str, str], address: str) -> Any:
    client = APIClient(REMOTE_ADDR=address)
    client.force_authenticate(user)
    return client.post(f"/api/v1/sale-items/{item.pk}/{what}/", body)


def told_of_pass(item: SaleItem, user: User, **how: Any) -> str:
    """`pass`, or the code of the refusal."""
    answer = ask_pass(item, user, **how)
    return "pass" if answer.status_code == 201 else str(answer.json()["code"])


def solved(challenge: dict[str, Any]) -> str:
    """The proof, by ALTCHA's own solver."""
    asked = Challenge.from_dict(challenge)
    solution = solve_challenge(asked)
    assert solution is not None
    return Payload(asked, solution).to_base64()


def proof_for(item: SaleItem, user: User) -> str:
    return solved(ask_challenge(item, user).json())


def replace_key(settings: LazySettings | Settings) -> None:
    """The shop has a new SECRET_KEY, and knows the former one."""
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, of more than fifty characters, as Django asks for"


def confirmed(user: User, email: str = "") -> User:
    """The user has a confirmed mail address."""
    email = email or f"{user.username}@example.com"
    User.objects.filter(pk=user.pk).update(email=email)
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user
