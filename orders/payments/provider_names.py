"""The payment providers by name, as settings and payments name them. No model is imported here: checks read this."""

from enum import StrEnum

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class ProviderName(StrEnum):
    """Stored with each payment, and part of the address of a provider's webhook."""

    SIMULATED = "simulated"
    STRIPE = "stripe"


def chosen() -> list[ProviderName]:
    """The providers that buyers may pay with, the preferred one first. Raises ImproperlyConfigured."""
    names: list[str] = settings.PAYMENT_PROVIDERS
    unknown = [name for name in names if name not in list(ProviderName)]
    if unknown:
        raise ImproperlyConfigured(f"PAYMENT_PROVIDERS names {unknown}; there are {sorted(ProviderName)}.")
    return [ProviderName(name) for name in names]
