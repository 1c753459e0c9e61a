"""Readers of environment variables for which django-environ has no type. Each raises ImproperlyConfigured."""

import environ
import limits
from django.conf.locale import LANG_INFO
from django.core.exceptions import ImproperlyConfigured

from shop.prices.money import UnknownCurrency, known_currency


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


def currency(env: environ.Env, name: str, *, default: str) -> str:
    """Three capital letters of ISO 4217, of a currency that is in use."""
    try:
        return known_currency(env.str(name, default=default))
    except UnknownCurrency as error:
        raise ImproperlyConfigured(str(error)) from None


def languages(env: environ.Env, name: str, *, default: list[str]) -> list[tuple[str, str]]:
    """Each language's code and its name in itself, in the order given.

    English must be among them: the shop's own texts are written in it.
    """
    codes: list[str] = env.list(name, default=default)
    if "en" not in codes:
        raise ImproperlyConfigured(f"{name} must contain en, in which the shop's own texts are written.")
    if unknown := [code for code in codes if "name_local" not in LANG_INFO.get(code, {})]:
        raise ImproperlyConfigured(f"{name} has codes that Django does not know: {', '.join(unknown)}")
    return [(code, str(LANG_INFO[code]["name_local"])) for code in codes]
