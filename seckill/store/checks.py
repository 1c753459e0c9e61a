"""The check of `manage.py check --deploy`. Other commands do not run it, since it needs both stores."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.db import OperationalError

from seckill.store import durability
from seckill.store.client import StoreUnreachable


def check_durability(**_context: Any) -> list[CheckMessage]:
    """One error per weakness; a warning instead if SECKILL_ALLOW_WEAK_DURABILITY is set."""
    try:
        weaknesses = durability.find_weaknesses()
    except StoreUnreachable as error:
        return [Error(f"The reservation store does not answer: {error}", id="seckill.E002")]
    except OperationalError as error:
        return [Error(f"PostgreSQL does not answer: {error}", id="seckill.E003")]
    if settings.SECKILL_ALLOW_WEAK_DURABILITY:
        allowed = "Sales can open only because SECKILL_ALLOW_WEAK_DURABILITY is set."
        return [Warning(weakness.text, hint=allowed, id="seckill.W001") for weakness in weaknesses]
    refused = "Until then no sale can be published."
    return [Error(weakness.text, hint=refused, id="seckill.E001") for weakness in weaknesses]
