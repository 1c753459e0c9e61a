"""How large a rehearsal is: units and buyers of each shadow, and when a sale may be rehearsed."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from seckill.items.shadow import ITEMS_MAX
from seckill.models import Sale, SaleItem, published_sales
from shop.databases.database_clock import database_now

BUYERS_MIN = 10
# What a laptop answers in a quarter of a minute. More say nothing new of the shop: the simulated buyers are one
# process, and beyond this they would look at themselves.
BUYERS_MAX = 20_000
# Where nobody says how many: enough to see a queue, few enough for a small machine.
BUYERS_USUAL = (500, 5_000)
# So many buyers for each unit, as at an opening that people wait for.
BUYERS_FOR_A_UNIT = 4
# Passes are given from ten minutes before the opening. The real buyers then have the machines for themselves.
BEFORE_OPENING = timedelta(minutes=15)
# Simulated buyers have the last ids that a column for accounts takes. Accounts count from 1 and never come so far.
BUYERS_FROM = 2**31 - 100_000


DRAW_HAS_NO_CROWD = _(
    "A rehearsal plays a crowd that asks for units at once. In a draw nobody does, so this sale is not rehearsed; the "
    "check before the opening looks at what it needs. To try the machines all the same, duplicate the sale, choose "
    "“first come, first served” in the copy, rehearse the copy, and delete it."
)


class Refused(Exception):
    """The rehearsal cannot begin, or not go on. The message is for staff, in their language."""


def check_allowed(sale: Sale) -> None:
    """Raises Refused."""
    now = database_now()
    if not settings.REHEARSALS:
        raise Refused(_("Rehearsals are switched off (REHEARSALS in docs/settings.md)."))
    if sale.has_draw:
        raise Refused(DRAW_HAS_NO_CROWD)
    if sale.closes_at <= now:
        raise Refused(_("The sale has ended."))
    if sale.is_published and sale.opens_at - BEFORE_OPENING <= now:
        raise Refused(
            _("The sale opens in less than 15 minutes, or is open already. Its buyers need the machines now.")
        )
    if not sale.items.exists():
        raise Refused(_("The sale has no items yet."))


def sales_of_now() -> list[Sale]:
    """The sales whose buyers would share the machines with a rehearsal."""
    now = database_now()
    return list(published_sales().filter(opens_at__lte=now + BEFORE_OPENING, closes_at__gt=now))


def usual_buyers(sale: Sale) -> int:
    fewest, most = BUYERS_USUAL
    units = sum(item.quantity or 0 for item in sale.items.all())
    return min(max(units * BUYERS_FOR_A_UNIT, fewest), most)


def shadow_items(sale: Sale, *, buyers: int) -> list[tuple[int, int | None]]:
    """The sale's items and how many units each shadow has: all of them, or so many that half of the buyers get none."""
    items = list(sale.items.order_by("pk")[:ITEMS_MAX])
    units = sum(item.quantity or 0 for item in items)
    return [(item.pk, scaled(item, units_max=max(buyers // 2, 1), units=units)) for item in items]


def scaled(item: SaleItem, *, units_max: int, units: int) -> int | None:
    if item.quantity is None or units <= units_max:
        return item.quantity
    return max(item.quantity * units_max // units, 1)


def spread(buyers: int, items: list[tuple[int, int | None]]) -> Iterator[int]:
    """For each buyer the place of an item: as many of each as it has units, evenly mixed."""
    limited = [units for _item_id, units in items if units is not None]
    usual = max(sum(limited) // len(limited), 1) if limited else 1
    weights = [usual if units is None else max(units, 1) for _item_id, units in items]
    asked = [0] * len(items)
    for _number in range(buyers):
        place = min(range(len(items)), key=lambda one: (asked[one] + 1) / weights[one])
        asked[place] += 1
        yield place
