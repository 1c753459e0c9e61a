"""Which orders count as holds that their buyers let end unpaid (seckill/passes/unpaid_holds.py).

Not those that ended while the shop was away: its buyers could not pay.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Exists, OuterRef

from orders.models import OrderLine, Payment
from seckill.passes import unpaid_holds

# An order is written, and an overdue one expires, within a second or two, as long as workers and PostgreSQL are there.
LATE = timedelta(seconds=10)


def count(order_ids: Iterable[int]) -> None:
    """Count orders that have just ended unpaid. After the commit: a crash before this lets their buyers off."""
    lines = OrderLine.objects.filter(order_id__in=list(order_ids), sale_item__isnull=False, order__buyer__isnull=False)
    # The row of a payment is there before the provider is asked, so a page without an address alone proves nothing.
    not_given = Payment.objects.filter(order=OuterRef("order"), url="").exclude(last_error="")
    lines = lines.exclude(Exists(not_given))
    times = ("order__reserved_at", "order__created_at", "order__expires_at", "order__ended_at")
    for item_id, buyer_id, reserved_at, created_at, expires_at, ended_at in lines.values_list(
        "sale_item_id", "order__buyer_id", *times
    ):
        if created_at - reserved_at < LATE and ended_at - expires_at < LATE:
            whole = expires_at - reserved_at
            share = (ended_at - reserved_at) / whole if whole else 1.0
            unpaid_holds.note(item_id=item_id, buyer_id=buyer_id, share=share)
