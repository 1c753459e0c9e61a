"""Whose cart it is: a buyer's, or that of a guest, who is known by a token alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from orders.cart.cart_lines import LINES_MAX
from orders.models import Cart, CartLine
from shop.models.people import lock_account

# How long a guest's cart is kept after its last change; the cookie in the guest's browser lasts as long.
KEPT = timedelta(days=60)
# One batch of the sweep; the next one follows at once.
OLD_CARTS_MAX = 500


@dataclass(frozen=True, slots=True)
class Holder:
    """The buyer or guest who asks. A buyer who has just signed in may still carry the token of a guest's cart."""

    buyer_id: int | None = None
    token: UUID | None = None

    @property
    def owner(self) -> str:
        """The holder's name for idempotent calls; empty for a guest without a cart."""
        if self.buyer_id is not None:
            return f"buyer:{self.buyer_id}"
        return f"cart:{self.token}" if self.token else ""


def uuid_in(text: str) -> UUID | None:
    """The id in a cookie, a header or a query; None for anything else."""
    try:
        return UUID(text)
    except ValueError:
        return None


def find_cart(holder: Holder) -> Cart | None:
    """The holder's cart. A guest's cart that a buyer still carries is merged into theirs first."""
    if holder.buyer_id is None:
        return guest_cart(holder.token)
    if holder.token is not None:
        merge_guest_cart(buyer_id=holder.buyer_id, token=holder.token)
    return Cart.objects.filter(buyer_id=holder.buyer_id).first()


def carts_to_read(holder: Holder) -> list[Cart]:
    """The buyer's cart, and the guest's that they still carry, as they are: reading a cart merges nothing."""
    mine = Cart.objects.filter(buyer_id=holder.buyer_id).first() if holder.buyer_id is not None else None
    return [cart for cart in (mine, guest_cart(holder.token)) if cart is not None]


def open_cart(holder: Holder) -> Cart:
    """The holder's cart, locked until the transaction ends; a new one where there is none.

    A guest cannot choose a token: one that no cart has gives a new cart with a new token. Raises AccountEnded.
    """
    if holder.buyer_id is not None:
        lock_account(holder.buyer_id)
    found = find_cart(holder)
    if found is None and holder.buyer_id is not None:
        found, _is_new = Cart.objects.get_or_create(buyer_id=holder.buyer_id)
    locked = lock_cart(found) if found else None
    return locked or lock_new_cart(holder)


def lock_new_cart(holder: Holder) -> Cart:
    """A new cart, locked, after the old one was merged or swept between reading and locking."""
    if holder.buyer_id is None:
        return Cart.objects.create()
    cart, _is_new = Cart.objects.select_for_update().get_or_create(buyer_id=holder.buyer_id)
    return cart


def lock_cart(cart: Cart) -> Cart | None:
    """The cart, locked until the transaction ends; None if it has gone. Lock it before you change its lines."""
    return Cart.objects.select_for_update().filter(pk=cart.pk, buyer_id=cart.buyer_id).first()


def guest_cart(token: UUID | None) -> Cart | None:
    """The guest's cart with this token. A buyer's cart has a token too, which opens nothing."""
    return Cart.objects.filter(token=token, buyer=None).first() if token else None


def merge_guest_cart(*, buyer_id: int, token: UUID) -> bool:
    """Move the lines of a guest's cart into the buyer's, once, and drop the guest's. False if there was none.

    Raises AccountEnded.
    """
    if guest_cart(token) is None:
        return False
    with transaction.atomic():
        lock_account(buyer_id)
        Cart.objects.get_or_create(buyer_id=buyer_id)
        # Both at once and in the order of their ids, so that two merges cannot deadlock.
        both = Q(buyer_id=buyer_id) | Q(token=token, buyer=None)
        carts = list(Cart.objects.select_for_update().filter(both).order_by("pk"))
        mine = next((cart for cart in carts if cart.buyer_id == buyer_id), None)
        guests = next((cart for cart in carts if cart.buyer_id is None), None)
        if mine is None or guests is None:
            return False
        lines = merged_lines(mine.lines.all(), guests.lines.all())
        for line in lines:
            line.cart = mine
        CartLine.objects.bulk_update(lines, ["cart", "units"])
        guests.delete()
        mine.save(update_fields=["changed_at"])
    return True


def merged_lines(mine: Iterable[CartLine], guests: Iterable[CartLine]) -> list[CartLine]:
    """The lines of both carts, as far as a cart has room, in memory.

    Of a variant in both carts the larger number of units counts, never the sum: most often the buyer means the same
    units.
    """
    lines = {line.variant_id: line for line in mine}
    for line in guests:
        if (own := lines.get(line.variant_id)) is not None:
            own.units = max(own.units, line.units)
        elif len(lines) < LINES_MAX:
            lines[line.variant_id] = line
    return list(lines.values())


def remove_old_carts() -> int:
    """Remove one batch of guests' carts that were not changed for as long as `KEPT`. Returns how many."""
    old = Cart.objects.filter(buyer=None, changed_at__lt=Now() - KEPT).order_by("changed_at")
    pks = list(old.values_list("pk", flat=True)[:OLD_CARTS_MAX])
    # Asked again: a guest may have come back meanwhile.
    Cart.objects.filter(pk__in=pks, changed_at__lt=Now() - KEPT).delete()
    return len(pks)
