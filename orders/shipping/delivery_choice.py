"""How an order of a flash sale is sent: its buyer chooses after the yes, from what the checkout offers too.

The same countries, ways and prices. The price of the delivery is added to the order before its payment page is opened;
from then on country and delivery stay. A shop without shipping methods sends free of charge, as in the checkout.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction

from orders.models import Order, OrderStatus, ShippingMethod
from orders.shipping.order_address import address_of, as_initial, only_country, store_address
from orders.shipping.shipping_prices import FREE, ShippingOffer, active_methods, countries_sent_to, offers_for
from shop.accounts.address_book import default_address
from shop.languages.columns import in_all_languages


class DeliveryOutcome(StrEnum):
    """The answer to a buyer who says where and how an order goes, in the order of the checks."""

    OTHER_COUNTRY = "other_country"
    FIXED = "fixed"
    NOT_OFFERED = "not_offered"
    PRICE_CHANGED = "price_changed"
    STORED = "stored"


def choice_open(order: Order) -> bool:
    """Whether the buyer chooses the delivery: the shop has shipping methods, and no payment page has an amount yet."""
    awaiting = order.reservation_id is not None and order.status == OrderStatus.AWAITING_PAYMENT
    return awaiting and not order.payments.exists() and active_methods().exists()


def must_ask(order: Order) -> bool:
    """Whether the web asks for address and delivery before it opens a payment page."""
    return bool(settings.SHIPPING_ADDRESS_REQUIRED) and (address_of(order) is None or must_choose(order))


def attach_default(order: Order) -> bool:
    """Whether the order has got its buyer's default address just now, with the first way of sending there.

    That happens when the order is first opened or paid. Only an unpaid order of a flash sale without an address gets
    one, and only if the shop sends there; else its buyer is asked. `order` is out of date afterwards.
    """
    lacking = order.reservation_id is not None and getattr(order, "shipping_address", None) is None
    if not lacking or order.status != OrderStatus.AWAITING_PAYMENT or not settings.SHIPPING_ADDRESS_REQUIRED:
        return False
    saved = default_address(order.buyer_id)
    if saved is None:
        return False
    with transaction.atomic():
        # The buyer may send another address right now, or open the order twice.
        locked = Order.objects.select_for_update().get(pk=order.pk)
        sent_to = countries_of(locked)
        if address_of(locked) is not None or (sent_to is not None and saved.country not in sent_to):
            return False
        if not choice_open(locked):
            return store_address(order_id=locked.pk, values=as_initial(saved))
        offers = offers_of(locked, country=saved.country)
        method = offers[0].code if offers else ""
        outcome = store_delivery(locked, values=as_initial(saved), method=method)
    return outcome is DeliveryOutcome.STORED


def must_choose(order: Order) -> bool:
    """Whether the order cannot be paid yet, since nobody knows what its delivery costs."""
    return bool(settings.SHIPPING_ADDRESS_REQUIRED) and not order.shipping_name and choice_open(order)


def countries_of(order: Order) -> frozenset[str] | None:
    """Where the order can go; None means everywhere."""
    if not choice_open(order) and (country := only_country(order)):
        return frozenset({country})
    return countries_sent_to()


def offers_of(order: Order, *, country: str) -> list[ShippingOffer]:
    lines = order.lines.select_related("variant")
    weight_grams = sum(line.units * line.variant.weight_grams for line in lines)
    return offers_for(country=country, weight_grams=weight_grams, total_minor=order.goods_minor)


def is_sent_otherwise(order: Order, *, method: str) -> bool:
    """Whether `method` is not how the order is sent, which has its name in the language of whoever chose it.

    The history has the names of before.
    """
    rows: Any = (ShippingMethod.objects.all(), ShippingMethod.history.all())  # type: ignore[attr-defined]
    columns = ("code", *in_all_languages("name"))
    names = {name for known in rows for row in known.filter(code=method).values_list(*columns) for name in row}
    return order.shipping_name not in names if names else method != FREE or order.shipping_minor > 0


def store_choice(
    order: Order, *, values: Mapping[str, str], method: str, seen_price_minor: int | None = None
) -> DeliveryOutcome:
    """Store the address and, while it can be chosen, the delivery. `order` is read again, and locked."""
    with transaction.atomic():
        # Its countries are looked up under the lock: a payment page that opens right now leaves only one of them.
        order.refresh_from_db(from_queryset=Order.objects.select_for_update())
        countries = countries_of(order)
        if countries is not None and values["country"] not in countries:
            return DeliveryOutcome.OTHER_COUNTRY
        if choice_open(order):
            return store_delivery(order, values=values, method=method, seen_price_minor=seen_price_minor)
        return DeliveryOutcome.STORED if store_address(order_id=order.pk, values=values) else DeliveryOutcome.FIXED


def store_delivery(
    order: Order, *, values: Mapping[str, str], method: str, seen_price_minor: int | None = None
) -> DeliveryOutcome:
    """Store address and delivery together, and add its price to the order, which is locked and `choice_open`.

    A payment page takes its amount under the same lock.
    """
    offers = offers_of(order, country=values["country"])
    offer = next((offer for offer in offers if offer.code == method), None)
    if offer is None:
        return DeliveryOutcome.NOT_OFFERED
    if seen_price_minor not in (None, offer.price_minor):
        return DeliveryOutcome.PRICE_CHANGED
    Order.objects.filter(pk=order.pk).update(
        amount_minor=order.goods_minor + offer.price_minor,
        shipping_name=offer.name,
        shipping_minor=offer.price_minor,
        shipping_tax_percent=offer.tax_percent,
    )
    store_address(order_id=order.pk, values=values)
    return DeliveryOutcome.STORED
