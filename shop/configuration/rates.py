"""Rates of limits, from the environment."""

import environ
import limits
from django.core.exceptions import ImproperlyConfigured


def rate(env: environ.Env, name: str, *, default: str) -> str:
    """A rate such as "30/minute" from the variable `name`. Raises ImproperlyConfigured."""
    text: str = env.str(name, default=default)
    try:
        sound = limits.parse(text).amount > 0
    except ValueError:
        sound = False
    if not sound:
        raise ImproperlyConfigured(f'{name} is {text!r}. Write a rate, for example "30/minute" or "5/5minutes".')
    return text
