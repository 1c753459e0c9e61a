"""How much of the stock unpaid orders of guests can hold. A mail address costs nothing, so it is not the only bound.

Counted in PostgreSQL, in the transaction that places the order: by mailbox, by the network of the client, and for each
variant the share of its units that all guests together hold. Those who sign in are bounded by account instead.
Orders are also found by marks of former keys, while these are in SECRET_KEY_FALLBACKS.
"""

import math
from collections.abc import Sequence
from hashlib import blake2b

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, QuerySet, Sum

from orders.models import Order, OrderLine, OrderStatus
from shop.configuration.quick_setting import secret_keys
from shop.mails.outgoing_mail import mailbox_of
from shop.models import Variant


def mark_of(text: str, *, kind: bytes, secret: str = "") -> str:
    """What an order keeps of a mailbox or a network: enough to count, and not the address itself. Empty stays empty.

    `secret` is a former SECRET_KEY.
    """
    if not text:
        return ""
    key = (secret or settings.SECRET_KEY).encode()[:64]
    return blake2b(text.encode(), digest_size=8, key=key, person=kind).hexdigest()


def mailbox_mark(email: str, *, secret: str = "") -> str:
    return mark_of(mailbox_of(email), kind=b"guest-mailbox", secret=secret)


def network_mark(network: str, *, secret: str = "") -> str:
    return mark_of(network, kind=b"guest-network", secret=secret)


def unpaid_of_mailbox(email: str) -> int:
    """How many unpaid orders this mailbox has. Locked, since one person may have several carts."""
    marks = [mailbox_mark(email, secret=secret) for secret in secret_keys()]
    return locked(marks).filter(guest_mailbox__in=marks).count()


def network_is_full(network: str, *, units: int) -> bool:
    """Whether guests of this network would have more unpaid orders, or units in them, than they may, with so many more.

    Call it after `unpaid_of_mailbox`.
    """
    if not network:
        return False
    marks = [network_mark(network, secret=secret) for secret in secret_keys()]
    unpaid = locked(marks).filter(guest_network__in=marks)
    count, held = unpaid.aggregate(count=Count("pk", distinct=True), held=Sum("lines__units", default=0)).values()
    return bool(count >= settings.GUEST_UNPAID_BY_NETWORK_MAX or held + units > settings.GUEST_UNITS_BY_NETWORK_MAX)


def exceeds_network(network: str, *, units: int) -> bool:
    """Whether an order of so many units is more than guests of one network may hold together."""
    return bool(network) and units > settings.GUEST_UNITS_BY_NETWORK_MAX


def locked(marks: Sequence[str]) -> "QuerySet[Order]":
    """The unpaid orders of guests. Until the transaction ends, no other guest with one of these marks orders."""
    with connection.cursor() as cursor:
        for text in sorted(marks):
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(bytes.fromhex(text), signed=True)])
    return Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, buyer=None)


def shares_in(order: Order) -> dict[int, int]:
    """How many units of each variant of the order guests may hold together. Its variants are locked.

    One unit may always be held.
    """
    variants = Variant.objects.filter(pk__in=order.lines.values("variant_id"))
    there = variants.values_list("pk", F("available") + F("held"))
    return {pk: math.ceil(units * settings.GUEST_SHARE_PERCENT / 100) for pk, units in there}


def hold_too_much(shares: dict[int, int]) -> bool:
    """Whether guests hold more than their share of one of these variants."""
    unpaid = OrderLine.objects.filter(
        order__status=OrderStatus.AWAITING_PAYMENT, order__buyer=None, sale_item=None, variant_id__in=shares
    )
    held = unpaid.order_by().values("variant_id").annotate(held=Sum("units")).values_list("variant_id", "held")
    return any(units > shares[pk] for pk, units in held)
