"""The value of a setting, for the calls of a stampede.

Each look at an attribute of Django's object runs a function of Python: a call to reserve had several, 5 % of its time.
But that object keeps each value in a dict after the first look, and forgets it where the setting changes
(`LazySettings` in django/conf). Here the dict is looked at first.
"""

from typing import Any

from django.conf import settings

_kept: dict[str, Any] = object.__getattribute__(settings, "__dict__")


def setting(name: str) -> Any:
    """Raises AttributeError as Django does."""
    try:
        return _kept[name]
    except KeyError:
        return getattr(settings, name)


def secret_keys() -> list[str]:
    """The current one, then the former ones that are still good."""
    return [setting("SECRET_KEY"), *setting("SECRET_KEY_FALLBACKS")]
