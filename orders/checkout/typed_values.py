"""What somebody typed at the checkout, kept for a while: the stock has changed, and they change their cart first.

It belongs to the cart: an account that signs in with a guest's cart does not get what the guest typed.
"""

from typing import Any

from django.core.cache import cache

from orders.cart.cart_holder import Holder
from shop.background.outages import AWAY

# Longer than changing a cart takes. A browser may be used by several people.
KEPT_SECONDS = 1800


def keep_typed(holder: Holder, values: dict[str, Any]) -> None:
    """Without the cache server they are typed again."""
    try:
        cache.set(key_of(holder), values, KEPT_SECONDS)
    except AWAY:
        return


def typed_by(holder: Holder) -> dict[str, Any]:
    """Empty if nothing is kept."""
    try:
        return (cache.get(key_of(holder)) if holder.owner else None) or {}
    except AWAY:
        return {}


def forget_typed(holder: Holder) -> None:
    try:
        cache.delete(key_of(holder))
    except AWAY:
        return


def key_of(holder: Holder) -> str:
    return f"checkout-typed:{holder.owner}"
