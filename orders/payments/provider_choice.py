"""From a provider's name to its class."""

from functools import cache

from orders.payments.provider.interface import Provider
from orders.payments.provider.names import ProviderName
from orders.payments.simulated.adapter import SimulatedProvider
from orders.payments.stripe_checkout import StripeProvider

PROVIDERS: dict[ProviderName, type[Provider]] = {
    ProviderName.SIMULATED: SimulatedProvider,
    ProviderName.STRIPE: StripeProvider,
}


@cache
def provider_named(name: str) -> Provider:
    """The provider of that name, even if the settings no longer choose it: its payments may still need refunds."""
    return PROVIDERS[ProviderName(name)]()
