"""Readers of environment variables. A wrong value raises ImproperlyConfigured with the name of the variable."""

import json
import re
from collections.abc import Collection
from decimal import Decimal
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
import limits
from django.conf.locale import LANG_INFO
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from shop.prices.money import UnknownCurrency, known_currency, to_minor

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
DAY_SECONDS, YEAR_SECONDS = 86_400, 31_536_000
ON, OFF = {"1", "true", "on", "yes", "y"}, {"0", "false", "off", "no", "n", ""}


EXPECTED = {int: "a whole number", json.loads: "JSON"}


def strict_env() -> environ.Env:
    """django-environ, whose errors name the variable, and in which a mistyped word does not turn a switch off.

    Values are not shown: they may be secrets.
    """
    env = environ.Env()
    read = env.get_value

    def get_value(name: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False) -> Any:
        if cast is bool and str(env.ENVIRON.get(name, "")).strip().lower() not in ON | OFF:
            raise ImproperlyConfigured(f"{name} must be 1 or 0.")
        try:
            value = read(name, cast, default, parse_default)
            # Of a list: people write a space after a comma, and a host or a key with a space is another one.
            return list(filter(None, map(str.strip, value))) if cast is list else value
        except ValueError:
            raise ImproperlyConfigured(f"{name} must be {EXPECTED.get(cast, 'written otherwise')}.") from None

    env.get_value = get_value
    return env


def email_url(env: environ.Env, name: str, *, default: str) -> dict[str, Any]:
    """Django's settings of a mail server."""
    try:
        return dict(env.email_url(name, default=default))
    except (ValueError, ImproperlyConfigured):
        raise ImproperlyConfigured(
            f"{name} is not the address of a mail server: write smtp+tls://user:password@host:587, "
            "filemail:////directory or consolemail://."
        ) from None


def rate(env: environ.Env, name: str, *, default: str) -> str:
    """A rate such as "30/minute"."""
    text: str = env.str(name, default=default)
    try:
        sound = limits.parse(text).amount > 0
    except ValueError:
        sound = False
    if not sound:
        raise ImproperlyConfigured(f'{name} is {text!r}. Write a rate, for example "30/minute" or "5/5minutes".')
    return text


def at_least(minimum: int, env: environ.Env, name: str, *, default: int, why: str) -> int:
    """A number from `minimum` on. `why` says in the error what a smaller one would break."""
    number: int = env.int(name, default=default)
    if number < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}: {why}.")
    return number


def optional_number(env: environ.Env, name: str) -> int | None:
    """A whole number from 0 on; None where the variable is empty."""
    text: str = env.str(name, default="").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ImproperlyConfigured(f"{name} must be a whole number, or empty.")
    return int(text)


def optional_amount(env: environ.Env, name: str, *, currency: str) -> int | None:
    """An amount of money such as 500 or 99.90, in minor units; None where the variable is empty."""
    text: str = env.str(name, default="").strip()
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,4})?", text):
        raise ImproperlyConfigured(f"{name} must be an amount in {currency} such as 500, or empty.")
    try:
        return to_minor(amount=Decimal(text), currency=currency)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from None


def http_address(env: environ.Env, name: str) -> str:
    """An address of HTTP or HTTPS, or nothing. It is not shown in errors: it may contain a secret."""
    text: str = env.str(name, default="").strip()
    try:
        address = urlsplit(text)
        sound = not text or (address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0)
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in text):
        raise ImproperlyConfigured(f"{name} must be an address that begins with https:// or http://.")
    return text


def mail_addresses(env: environ.Env, name: str) -> list[str]:
    """Divided by commas, each with or without a name: "Shop <shop@example.com>"."""
    addresses: list[str] = env.list(name, default=[])
    try:
        for address in addresses:
            validate_email(parseaddr(address)[1])
    except ValidationError:
        raise ImproperlyConfigured(f"{name} must be mail addresses, divided by commas.") from None
    return addresses


def currency(env: environ.Env, name: str, *, default: str) -> str:
    """Three capital letters of ISO 4217, of a currency that is in use."""
    try:
        return known_currency(env.str(name, default=default))
    except UnknownCurrency as error:
        raise ImproperlyConfigured(str(error)) from None


def country(env: environ.Env, name: str, *, default: str) -> str:
    """The two capital letters of ISO 3166."""
    code: str = env.str(name, default=default).upper()
    if len(code) != 2 or not (code.isascii() and code.isalpha()):
        raise ImproperlyConfigured(f"{name} is {code!r}. Write the two letters of a country, such as CN.")
    return code


def languages(env: environ.Env, name: str, *, default: list[str]) -> list[tuple[str, str]]:
    """Each language's code and its name in itself, in the order given.

    English must be among them: the shop's own texts are written in it.
    """
    codes: list[str] = list(dict.fromkeys(env.list(name, default=default)))
    if "en" not in codes:
        raise ImproperlyConfigured(f"{name} must contain en, in which the shop's own texts are written.")
    if unknown := [code for code in codes if "name_local" not in LANG_INFO.get(code, {})]:
        raise ImproperlyConfigured(f"{name} has codes that Django does not know: {', '.join(unknown)}")
    return [(code, str(LANG_INFO[code]["name_local"])) for code in codes]


def zone(env: environ.Env, name: str, *, default: str) -> str:
    """A zone of the time zone database."""
    text: str = env.str(name, default=default)
    if not is_zone(text):
        raise ImproperlyConfigured(f"{name} is {text!r}, which is no time zone. Write one such as Asia/Shanghai.")
    return text


def is_zone(text: str) -> bool:
    """Reads the zone alone: a list of all, by `available_timezones`, takes each process 30 ms."""
    # Some systems have all zones two times more; the clocks of those in `right/` count leap seconds.
    if text.startswith(("right/", "posix")):
        return False
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return False
    return True


def one_of(env: environ.Env, name: str, *, default: str, allowed: Collection[str]) -> str:
    text: str = env.str(name, default=default)
    if text not in allowed:
        raise ImproperlyConfigured(f"{name} is {text!r}. Write one of {', '.join(allowed)}.")
    return text


def log_level(env: environ.Env, name: str, *, default: str) -> str:
    return one_of(env, name, default=default, allowed=LOG_LEVELS)


def hsts(env: environ.Env, *, https: bool) -> tuple[int, bool, bool]:
    """For how long browsers use TLS alone, whether for subdomains too, and whether for people who were never here.

    What a browser has heard cannot be taken back, so the default is a day for this host alone.
    """
    seconds = at_least(0, env, "HSTS_SECONDS", default=DAY_SECONDS, why="it is a time")
    subdomains: bool = env.bool("HSTS_SUBDOMAINS", default=False)
    preload: bool = env.bool("HSTS_PRELOAD", default=False)
    if preload and not (subdomains and seconds >= YEAR_SECONDS):
        raise ImproperlyConfigured(
            f"HSTS_PRELOAD needs HSTS_SUBDOMAINS=1 and HSTS_SECONDS={YEAR_SECONDS} or more, or browsers refuse it."
        )
    return (seconds, subdomains, preload) if https else (0, False, False)
