"""The check of a user name and a password, for the API, the web and the admin. Limited before a password is hashed.

A check of a password takes a core for some 20 ms, so unlimited attempts would stop the shop, not only guess.
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
    known = find_account(username)
    name = known.get_username() if known else username
    account = account_key(name) if known else name_key(name)
    key = account + place_of(request, account=account)
    by_name = {"action": BY_NAME, "rate": settings.SIGN_IN_LIMIT_BY_NAME, "key": key}
    take(action=BY_ADDRESS, rate=settings.SIGN_IN_LIMIT_BY_ADDRESS, key=client_network(request))
    take(**by_name)
    user = authenticate(request, username=name, password=password)
    if user is None:
        # Not the name that was typed: people type passwords there too.
        whose = known.pk if known else None
        log.warning("sign_in_failed", user=whose, address=client_address(request), path=request.path)
    else:
        forget(**by_name)
        remember_network(request, account=account)
    return user


def find_account(login: str) -> User | None:
    """The account with this name or this confirmed address, which may be typed in full-width letters.

    An unconfirmed address may be another person's, and any number of accounts can have it: each would cost a hash.
    """
    typed, plain = login.strip(), plain_form(login)
    named = {user.get_username(): user for user in User.objects.filter(username__in={typed, plain})}
    if typed in named or plain in named:
        return named.get(typed) or named[plain]
    if "@" not in plain:
        return None
    address = EmailAddress.objects.filter(email=plain.lower(), verified=True).select_related("user").first()
    return address.user if address else None


def account_key(username: str) -> str:
    """The key of the account with exactly this name, also where other names only look like it in other alphabets.

    `name_key` is for the one in ASCII letters, or the one that is written in its small plain form. "Bob" and "bob"
    share it: a sign-up refuses the second of them, so only staff or a command can make both.
    """
    if username.isascii() or username == plain_form(username).casefold():
        return name_key(username)
    return hashlib.sha256(f"exactly {username}".encode(errors="replace")).hexdigest()


def name_key(login: str) -> str:
    """The same for every way of writing a name, and of bounded length.

    Addresses that `find_account` looks up apart count apart: else the count would say which of two has an account.
    """
    plain = plain_form(login)
    name = plain.lower() if "@" in plain else plain.casefold()
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()


def plain_form(login: str) -> str:
    return unicodedata.normalize("NFKC", login).strip()
