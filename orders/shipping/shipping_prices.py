"""The ways of sending that a shop offers for a parcel, with their prices."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from orders.models import ShippingMethod, ShippingPrice

# A shop that has set up no method at all sends free of charge.
FREE = "free"


@dataclass(frozen=True, slots=True)
class ShippingOffer:
    """One way of sending with its price, in minor units of the shop's currency."""

    code: str
    name: str
    price_minor: int
    tax_percent: Decimal | None

    @property
    def choice(self) -> str:
        """The offer's value in a form. It has the price too, so that the buyer pays the price that was shown."""
        return f"{self.code}:{self.price_minor}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The delivery that the form asks for: the country, and an offer with the price that was shown."""

    country: str
    shipping: str

    @property
    def method(self) -> str:
        return self.shipping.partition(":")[0]

    @property
    def seen_price_minor(self) -> int | None:
        return minor_in(self.shipping.partition(":")[2])


def minor_in(text: str) -> int | None:
    """The amount that a form says was shown; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def choice_in(posted: QueryDict) -> Choice:
    # PostgreSQL, which is asked for the method, takes no text with a NUL.
    return Choice(posted.get("country", ""), posted.get("shipping", "").replace("\0", ""))


def offers_for(*, country: str, weight_grams: int, total_minor: int) -> list[ShippingOffer]:
    """The offers for goods of this weight and total, sent to `country` (ISO 3166), in the order of the admin.

    A method is left out if it does not go to the country, or has no price for this weight or total.
    """
    methods = list(active_methods().prefetch_related("prices").select_related("tax_rate"))
    if not methods:
        return [ShippingOffer(FREE, _("Free delivery"), 0, None)]
    offers = []
    for method in methods:
        if method.countries and country not in method.countries:
            continue
        price_minor = price_of(method, weight_grams=weight_grams, total_minor=total_minor)
        if price_minor is None:
            continue
        percent = method.tax_rate.percent if method.tax_rate else None
        offers.append(ShippingOffer(method.code, str(method), price_minor, percent))
    return offers


def price_of(method: ShippingMethod, *, weight_grams: int, total_minor: int) -> int | None:
    """The price of sending such goods by this method; None if it has none. By weight, the last band is a limit too."""
    prices = list(method.prices.all())
    is_free = method.free_from_minor is not None and total_minor >= method.free_from_minor
    if method.basis == ShippingMethod.Basis.TOTAL:
        return 0 if is_free else band_price(total_minor, prices)
    price_minor = band_price(weight_grams, prices)
    return 0 if is_free and price_minor is not None else price_minor


def band_price(measure: int, prices: list[ShippingPrice]) -> int | None:
    """The price of the narrowest band that holds `measure`; None if there is none."""
    fitting = [price for price in prices if price.up_to is None or measure <= price.up_to]
    narrowest = min(fitting, key=lambda price: (price.up_to is None, price.up_to or 0), default=None)
    return narrowest.price_minor if narrowest else None


def active_methods() -> QuerySet[ShippingMethod]:
    return ShippingMethod.objects.filter(is_active=True)


def countries_sent_to() -> frozenset[str] | None:
    """The codes of the countries to which the shop sends; None means all, where one method has no list."""
    lists = list(active_methods().values_list("countries", flat=True))
    return frozenset(code for codes in lists for code in codes) if lists and all(lists) else None
