"""The payment providers by name. A module is imported when its provider is used, since its packages may be absent."""

from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    # The checks read this file before there are models.
    from orders.payments.provider import Provider

PROVIDERS = {
    "simulated": "orders.payments.simulated.adapter.SimulatedProvider",
    "stripe": "orders.payments.stripe_checkout.StripeProvider",
}


def chosen() -> list[str]:
    """The providers that buyers may pay with, the shop's favourite first. Raises ImproperlyConfigured."""
    names: list[str] = settings.PAYMENT_PROVIDERS
    unknown = [name for name in names if name not in PROVIDERS]
    if unknown:
        raise ImproperlyConfigured(f"PAYMENT_PROVIDERS names {unknown}; there are {sorted(PROVIDERS)}.")
    return names


@cache
def named(name: str) -> "Provider":
    """The provider of that name, also one that is no longer chosen: its payments may still have to be refunded."""
    provider: Provider = import_string(PROVIDERS[name])()
    return provider
