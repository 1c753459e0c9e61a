"""From a provider's name to its class."""

from functools import cache

from orders.payments.provider import Provider
from orders.payments.provider_names import ProviderName
from orders.payments.simulated.adapter import SimulatedProvider
from orders.payments.stripe_checkout import StripeProvider

PROVIDERS: dict[ProviderName, type[Provider]] = {
    ProviderName.SIMULATED: SimulatedProvider,
    ProviderName.STRIPE: StripeProvider,
}


@cache
def named(name: str) -> Provider:
    """The provider of that name, also one that is no longer chosen: its payments may still have to be refunded."""
    return PROVIDERS[ProviderName(name)]()
