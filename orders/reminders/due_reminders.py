"""When reminders are due: before the opening, spread over some time; when something is back, the first who asked.

For each unit that is back, a few people are told, and the next ones if it is still there half a minute later: a mail to
thousands about one unit would disappoint them all.
"""

import math
from datetime import timedelta

from django.db.models import Count, F, QuerySet
from django.db.models.functions import Now

from orders.models import Reminder
from orders.reminders.subscribing import CONFIRM_WITHIN
from seckill.items import archive
from seckill.models import Sale, SaleItem
from seckill.phase import Phase
from seckill.store.client import StoreUnreachable

SWEEP_SECONDS = 30.0
# Reminders of a sale leave within this time before its opening.
LEAD = timedelta(hours=1)
# The last mails should leave some minutes before the opening.
SPARE = timedelta(minutes=5)
# So many people hear of each unit that is back.
TOLD_FOR_EACH_UNIT = 3
# In one sweep, of one thing that is back.
TOLD_MAX = 500
# Of a product that does not come back.
KEPT_FOR = timedelta(days=180)
FORGOTTEN_MAX = 1_000


def make_due() -> int:
    """Mark the reminders that are due now, and remove those that have no use any more. Returns how many are due."""
    forget_past()
    return openings_due() + items_back() + variants_back()


def waiting() -> "QuerySet[Reminder]":
    return Reminder.objects.filter(confirmed_at__isnull=False, next_attempt_at=None)


def openings_due() -> int:
    """Of each sale that opens soon, as many as must leave now so that all have left before the opening."""
    soon = Sale.objects.filter(published_at__isnull=False, opens_at__lte=Now() + LEAD, closes_at__gt=Now())
    counted = soon.filter(reminders__in=waiting()).annotate(count=Count("reminders"), now=Now())
    due = 0
    for sale_id, opens_at, count, now in counted.values_list("pk", "opens_at", "count", "now"):
        seconds_left = (opens_at - SPARE - now).total_seconds()
        sweeps_left = max(1.0, seconds_left / SWEEP_SECONDS)
        due += mark(waiting().filter(sale=sale_id), count=math.ceil(count / sweeps_left))
    return due


def items_back() -> int:
    now = Now()
    on_sale = SaleItem.objects.filter(
        sale__published_at__isnull=False, sale__opens_at__lte=now, sale__closes_at__gt=now, sale__paused=False
    )
    # In a draw nobody can reserve what is left.
    items = list(on_sale.filter(reminders__in=waiting()).exclude(sale__admission=Sale.Admission.DRAW).distinct())
    if not items:
        return 0
    try:
        counters = archive.counters_of(items)
    except StoreUnreachable:
        return 0
    due = 0
    for item in items:
        known = counters.get(item.pk)
        # One that is paused alone sells nothing: its reminders wait.
        if known is None or known.phase is not Phase.OPEN:
            continue
        left = TOLD_MAX if known.quantity is None else known.left or 0
        due += mark(waiting().filter(item=item), count=min(left * TOLD_FOR_EACH_UNIT, TOLD_MAX))
    return due


def variants_back() -> int:
    there = waiting().filter(variant__available__gt=0, variant__is_active=True, variant__product__is_active=True)
    due = 0
    for variant_id, available in there.values_list("variant", F("variant__available")).distinct():
        due += mark(waiting().filter(variant=variant_id), count=min(available * TOLD_FOR_EACH_UNIT, TOLD_MAX))
    return due


def mark(reminders: "QuerySet[Reminder]", *, count: int) -> int:
    """The first who asked."""
    first = reminders.order_by("pk").values("pk")[:count]
    return waiting().filter(pk__in=first).update(next_attempt_at=Now())


def forget_past() -> int:
    """Addresses go with the end of the sale, without a confirmation, and if a product does not come back."""
    now, count = Now(), 0
    for past in (
        Reminder.objects.filter(sale__closes_at__lte=now),
        Reminder.objects.filter(item__sale__closes_at__lte=now),
        Reminder.objects.filter(confirmed_at=None, created_at__lt=now - CONFIRM_WITHIN),
        Reminder.objects.filter(variant__isnull=False, created_at__lt=now - KEPT_FOR),
    ):
        pks = list(past.values_list("pk", flat=True)[:FORGOTTEN_MAX])
        count += Reminder.objects.filter(pk__in=pks).delete()[0] if pks else 0
    return count


def wanted_of_sale(sale_id: int) -> tuple[int, dict[int, int]]:
    """For staff: how many want to hear of the opening, and by item, how many of units that are back."""
    confirmed = Reminder.objects.filter(confirmed_at__isnull=False)
    of_items = confirmed.filter(item__sale=sale_id).order_by().values_list("item").annotate(Count("pk"))
    return confirmed.filter(sale=sale_id).count(), dict(of_items)


def wanted_of_product(product_id: int) -> dict[int, int]:
    """For staff: by variant, how many wait for it."""
    confirmed = Reminder.objects.filter(confirmed_at__isnull=False, variant__product=product_id)
    return dict(confirmed.order_by().values_list("variant").annotate(Count("pk")))
