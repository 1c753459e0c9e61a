"""Placing an order: the lines of a cart become an order, whose units are held until its deadline.

The page and the API both call `place_once`. Everything that needs several of these locks takes them in this order: the
key of the call, the account, the cart, a guest's mailbox, the network, the order, the variants by their ids
(`shop/stock/movements.py`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from rest_framework.renderers import JSONRenderer

from orders.api.serializers import OrderSerializer
from orders.cart.cart_contents import Contents, ShownLine, contents_of
from orders.cart.cart_holder import Holder, find_cart, lock_cart
from orders.cart.cart_lines import touch
from orders.checkout import guest_bounds
from orders.idempotent_calls import CallResult, KeyedCall, Refused, run_once
from orders.mails import sending
from orders.models import Cart, Mail, Order, OrderLine, OrderStatus, ShippingAddress, with_lines
from orders.models.order import drew_known_code
from orders.shipping.shipping_prices import ShippingOffer, offers_for
from orders.units.in_stock import move_units
from shop import failpoints
from shop.databases.database_clock import database_now
from shop.models import StockChange
from shop.models.people import lock_account
from shop.prices.money import to_decimal
from shop.stock.movements import NotEnoughUnits

# With a million orders, one drawn number in a million is taken already.
DRAWS_MAX = 3


class PlaceOutcome(StrEnum):
    """The answer to a buyer who wants to order, in the order of the checks. Only `placed` changes anything."""

    CART_EMPTY = "cart_empty"
    STOCK_CHANGED = "stock_changed"
    PRICE_CHANGED = "price_changed"
    SHIPPING_NOT_OFFERED = "shipping_not_offered"
    TOO_MANY_UNPAID = "too_many_unpaid"
    GUEST_NEEDS_ACCOUNT = "guest_needs_account"
    GUESTS_WAIT = "guests_wait"
    PLACED = "placed"


@dataclass(frozen=True, kw_only=True)
class CheckoutRequest:
    """The order that a buyer or guest asks for. `address` has the columns of ShippingAddress.

    `email` is a guest's, `network` that of the client (`client_network`). `seen_shipping_minor` and `seen_total_minor`
    (of the goods) are the amounts that a page showed, `seen_amount` is what a program showed for all. Without them,
    only the prices of the cart's lines are compared, and another tab may have seen those.
    """

    holder: Holder
    address: dict[str, str]
    shipping_method: str
    language: str
    email: str = ""
    network: str = ""
    note: str = ""
    billing_address: str = ""
    vat_number: str = ""
    seen_total_minor: int | None = None
    seen_shipping_minor: int | None = None
    seen_amount: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """`order` is set with `placed`; `lines` are those that changed, with `stock_changed` and `price_changed`.

    With `guest_needs_account` they are the lines of which a guest may order less, none if the whole cart is too much.
    """

    outcome: PlaceOutcome
    order: Order | None = None
    lines: Sequence[ShownLine] = ()


class GivenUp(Exception):
    """The transaction must be rolled back: units went to others since the cart was read, or guests hold too many."""

    def __init__(self, placement: Placement) -> None:
        super().__init__(placement.outcome)
        self.placement = placement


def place_once(asked: CheckoutRequest, call: KeyedCall, *, wait: bool = False) -> CallResult:
    """Place the order of a call that may be repeated, once: order and answer are one transaction.

    The answer is the order's JSON; the refusal is a Placement. With `wait`, a repeated call waits for the first one.
    Raises AccountEnded.
    """

    def work() -> tuple[int, Any]:
        placement = place_order(asked)
        if placement.order is None:
            raise Refused(placement)
        answer = json_of(placement.order)
        failpoints.reach("checkout.before_commit")
        return 201, answer

    result = run_once(call, work, wait=wait)
    failpoints.reach("checkout.after_commit")
    return result


def json_of(order: Order) -> Any:
    """The order as the API shows it, in types that a JSON column holds."""
    shown = Order.objects.prefetch_related(with_lines()).select_related("shipping_address").get(pk=order.pk)
    return json.loads(JSONRenderer().render(OrderSerializer(shown).data))


def place_order(asked: CheckoutRequest, *, draws_max: int = DRAWS_MAX) -> Placement:
    """Place all of the order or nothing. Try again if PostgreSQL drew a short number that is taken.

    Raises AccountEnded.
    """
    try:
        with transaction.atomic():
            return place(asked)
    except GivenUp as given_up:
        return given_up.placement
    except IntegrityError as error:
        if draws_max > 1 and drew_known_code(error):
            return place_order(asked, draws_max=draws_max - 1)
        raise


def place(asked: CheckoutRequest) -> Placement:
    if asked.holder.buyer_id is not None:
        # Blocking or deleting the account waits until the order is there, and finds it.
        lock_account(asked.holder.buyer_id)
    found = find_cart(asked.holder)
    cart = lock_cart(found) if found else None
    contents = contents_of(cart)
    if cart is None or not contents.lines:
        return Placement(PlaceOutcome.CART_EMPTY)
    if not contents.can_be_bought:
        return Placement(PlaceOutcome.STOCK_CHANGED, lines=contents.changed)
    if contents.changed or asked.seen_total_minor not in (None, contents.total_minor):
        return Placement(PlaceOutcome.PRICE_CHANGED, lines=contents.changed)
    offer = chosen_offer(asked, contents)
    if offer is None:
        return Placement(PlaceOutcome.SHIPPING_NOT_OFFERED)
    amount = to_decimal(minor=contents.total_minor + offer.price_minor, currency=settings.CURRENCY)
    if asked.seen_shipping_minor not in (None, offer.price_minor) or asked.seen_amount not in (None, amount):
        return Placement(PlaceOutcome.PRICE_CHANGED)
    if unpaid_orders(asked) >= settings.CHECKOUT_UNPAID_MAX:
        return Placement(PlaceOutcome.TOO_MANY_UNPAID)
    is_guest = asked.holder.buyer_id is None
    if is_guest and guest_bounds.exceeds_network(asked.network, units=contents.units):
        return Placement(PlaceOutcome.GUEST_NEEDS_ACCOUNT)
    if is_guest and guest_bounds.network_is_full(asked.network, units=contents.units):
        return Placement(PlaceOutcome.GUESTS_WAIT)
    order = create_order(asked, contents, offer)
    try:
        move_units(order_ids=[order.pk], kind=StockChange.Kind.HELD)
    except NotEnoughUnits as lacking:
        raise GivenUp(Placement(PlaceOutcome.STOCK_CHANGED, lines=lines_lacking(contents, lacking))) from lacking
    if is_guest:
        check_shares(order, contents)
        sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.PLACED)
    empty(cart)
    return Placement(PlaceOutcome.PLACED, order=order)


def check_shares(order: Order, contents: Contents) -> None:
    """Raises GivenUp if guests would hold too much with this order, or if it is too much by itself."""
    shares = guest_bounds.shares_in(order)
    over = [replace(line, left=most) for line in contents.lines if line.units > (most := shares[line.variant.pk])]
    if over:
        raise GivenUp(Placement(PlaceOutcome.GUEST_NEEDS_ACCOUNT, lines=over))
    if guest_bounds.hold_too_much(shares):
        raise GivenUp(Placement(PlaceOutcome.GUESTS_WAIT))


def chosen_offer(asked: CheckoutRequest, contents: Contents) -> ShippingOffer | None:
    offers = offers_for(
        country=asked.address["country"], weight_grams=contents.weight_grams, total_minor=contents.total_minor
    )
    return next((offer for offer in offers if offer.code == asked.shipping_method), None)


def unpaid_orders(asked: CheckoutRequest) -> int:
    """How many ordinary orders of this buyer, or of this guest's mailbox, await payment.

    A buyer's checkouts come one after the other, since they lock the same cart.
    """
    if asked.holder.buyer_id is None:
        return guest_bounds.unpaid_of_mailbox(asked.email)
    unpaid = Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, reservation_id=None)
    return unpaid.filter(buyer_id=asked.holder.buyer_id).count()


def create_order(asked: CheckoutRequest, contents: Contents, offer: ShippingOffer) -> Order:
    """The order with its lines and its address. Names and prices of delivery are kept as they were."""
    is_guest = asked.holder.buyer_id is None
    # Deadlines are compared with PostgreSQL's clock.
    now = database_now()
    order = Order(
        buyer_id=asked.holder.buyer_id,
        email=asked.email if is_guest else "",
        guest_mailbox=guest_bounds.mailbox_mark(asked.email) if is_guest else "",
        guest_network=guest_bounds.network_mark(asked.network) if is_guest else "",
        language=asked.language,
        amount_minor=contents.total_minor + offer.price_minor,
        currency=settings.CURRENCY,
        shipping_name=offer.name,
        shipping_minor=offer.price_minor,
        shipping_tax_percent=offer.tax_percent,
        reserved_at=now,
        expires_at=now + timedelta(seconds=hold_seconds(is_guest=is_guest)),
        buyer_note=asked.note,
        billing_address=asked.billing_address,
        vat_number=asked.vat_number,
    )
    order.save(force_insert=True)
    OrderLine.objects.bulk_create(
        OrderLine(
            order=order,
            variant=line.variant,
            units=line.units,
            unit_price_minor=line.unit_price_minor,
            tax_percent=rate.percent if (rate := line.variant.product.tax_rate) else None,
        )
        for line in contents.lines
    )
    ShippingAddress.objects.create(order=order, **asked.address)
    return order


def hold_seconds(*, is_guest: bool) -> int:
    """How long the units are held. A guest's first time is short; a payment page that is opened makes it whole."""
    return (
        min(settings.GUEST_HOLD_SECONDS, settings.CHECKOUT_HOLD_SECONDS) if is_guest else settings.CHECKOUT_HOLD_SECONDS
    )


def lines_lacking(contents: Contents, lacking: NotEnoughUnits) -> list[ShownLine]:
    """The lines whose units others have taken, with the units that are left."""
    lines = []
    for line in contents.lines:
        if (left := lacking.available.get(line.variant.pk)) is not None:
            # The variant was read before they were taken.
            line.variant.available = left
            lines.append(replace(line, left=left))
    return lines


def empty(cart: Cart) -> None:
    cart.lines.all().delete()
    touch(cart)
