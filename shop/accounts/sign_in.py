"""The check of a user name and a password, for the API, the web and the admin. Limited before a password is hashed.

A check of a password takes a core for a tenth of a second, so unlimited attempts would stop the shop, not only guess.
"""

import hashlib
import unicodedata

import structlog
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.http import HttpRequest

from shop.accounts.known_places import place_of, remember_network
from shop.http.client_address import client_address, client_network
from shop.http.rate_limits import forget, take

log = structlog.get_logger(__name__)

BY_ADDRESS = "sign_in_by_address"
BY_NAME = "sign_in_by_name"


def check_password(request: HttpRequest, *, username: str, password: str) -> AbstractBaseUser | None:
    """The user, or None if name or password is wrong. Raises LimitReached before the password is looked at.

    `username` may also be the account's confirmed e-mail address. Attempts count for the account, however it is named,
    and apart for each device and network from which it signed in lately.

    A success frees these attempts and not the address's: otherwise an attacker could free them by signing in
    to an account of their own.
    """
    username = account_name(username)
    account = name_key(username)
    key = account + place_of(request, account=account)
    by_name = {"action": BY_NAME, "rate": settings.SIGN_IN_LIMIT_BY_NAME, "key": key}
    take(action=BY_ADDRESS, rate=settings.SIGN_IN_LIMIT_BY_ADDRESS, key=client_network(request))
    take(**by_name)
    user = authenticate(request, username=username, password=password)
    if user is None:
        # Not the name that was typed: people type passwords there too.
        known = User.objects.filter(username=username).values_list("pk", flat=True).first()
        log.warning("sign_in_failed", user=known, address=client_address(request), path=request.path)
    else:
        forget(**by_name)
        remember_network(request, account=account)
    return user


def account_name(login: str) -> str:
    """The user name of the account with this name or this confirmed address; `login` itself if there is none.

    An unconfirmed address may be another person's, and any number of accounts can have it: each would cost a hash.
    """
    login = login.strip()
    if "@" not in login or User.objects.filter(username=login).exists():
        return login
    address = EmailAddress.objects.filter(email=login.lower(), verified=True).select_related("user").first()
    return address.user.get_username() if address else login


def name_key(username: str) -> str:
    """The same for every way of writing a name, and of bounded length."""
    name = unicodedata.normalize("NFKC", username).strip().casefold()
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()
