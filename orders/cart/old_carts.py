"""Guests' carts that nobody has come back to are removed."""

from datetime import timedelta

from django.db.models.functions import Now

from orders.models import Cart

# As long as the cookie in the guest's browser is kept.
KEPT = timedelta(days=60)
# One batch of the sweep; the next one follows at once.
BATCH_MAX = 500


def remove_old_carts(*, batch_max: int = BATCH_MAX) -> int:
    """Remove one batch of guests' carts that were not changed for as long as `KEPT`. Returns how many."""
    old = Cart.objects.filter(buyer=None, changed_at__lt=Now() - KEPT).order_by("changed_at")
    pks = list(old.values_list("pk", flat=True)[:batch_max])
    # Asked again: a guest may have come back meanwhile.
    Cart.objects.filter(pk__in=pks, changed_at__lt=Now() - KEPT).delete()
    return len(pks)
