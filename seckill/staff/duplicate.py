"""“Duplicate this sale”: a draft with the same items, one week later."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from seckill.models import Sale
from shop.languages.columns import in_all_languages

WEEK = timedelta(weeks=1)


def duplicate(*, sale_id: int) -> Sale:
    """A new draft with the names, terms and items of the sale, at the same hour one week later.

    A draft of an old sale gets the first week that is still to come, since a sale in the past cannot be published.
    Quantities are the present ones plus the unsold units that have gone back to the stock. A form that is sent twice
    gets the same draft: another one would stand in its way. Raises Sale.DoesNotExist.
    """
    with transaction.atomic():
        draft = Sale.objects.select_for_update(no_key=True).get(pk=sale_id)
        items = list(draft.items.order_by("pk"))
        weeks = weeks_until_future(draft.opens_at)
        draft.opens_at, draft.closes_at = later(draft.opens_at, weeks), later(draft.closes_at, weeks)
        same = {name: getattr(draft, name) for name in ("opens_at", "closes_at", *in_all_languages("name"))}
        if made_before := Sale.objects.filter(published_at=None, **same).first():
            return made_before
        draft.pk, draft.published_at, draft.paused = None, None, False
        draft._state.adding = True
        draft.save()
        for item in items:
            if item.quantity is not None:
                item.quantity += item.returned
            item.pk, item.sale = None, draft
            item.taken, item.announced_at, item.archived_at, item.from_stock = 0, None, None, False
            item.incarnation, item.returned, item.paused, item.line_ended_at = "", 0, False, None
            item._state.adding = True
            item.save()
    return draft


def weeks_until_future(opens_at: datetime) -> int:
    """How many weeks later the draft opens: the fewest that put it into the future, at least one."""
    now = timezone.now()
    weeks = max(1, (now - opens_at) // WEEK)
    # Weeks in which the clocks change are an hour longer or shorter.
    while later(opens_at, weeks) <= now:
        weeks += 1
    return weeks


def later(at: datetime, weeks: int) -> datetime:
    """The same hour of the shop's day, also where summer time has begun or ended meanwhile."""
    return timezone.make_aware(timezone.make_naive(at) + weeks * WEEK)
