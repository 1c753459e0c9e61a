"""The names of the payment providers. Imports no model, because the system checks import it."""

from enum import StrEnum

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class ProviderName(StrEnum):
    """Stored with each payment, and part of the address of a provider's webhook."""

    SIMULATED = "simulated"
    STRIPE = "stripe"


def chosen_providers() -> list[ProviderName]:
    """The providers that buyers can pay with, the preferred one first. Raises ImproperlyConfigured."""
    names: list[str] = settings.PAYMENT_PROVIDERS
    unknown = [name for name in names if name not in list(ProviderName)]
    if unknown:
        raise ImproperlyConfigured(f"PAYMENT_PROVIDERS names {unknown}; there are {sorted(ProviderName)}.")
    return [ProviderName(name) for name in names]
