"""A flash sale takes its units out of the stock that the shop sells meanwhile, and gives back what it did not sell.

The trial's sale is of the product on the shelf, so its buyers and those of the shop want the same units.
"""

import subprocess
import sys
from collections.abc import Sequence

from django.db import connection
from django.db.models import Sum

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, TrialContext
from bench.faults.shop_under_test import ShopUnderTest
from bench.faults.shopping.goods import Goods, Shelf
from bench.faults.trial_sale import Stock, unpublished_item
from seckill import ledger
from seckill.changes.journal import make_change
from seckill.models import SaleChange, SaleItem, reference_of
from seckill.publication import publish_sale
from shop.local.shop_processes import ROOT
from shop.models import StockChange

IN_SALE = 25
# So many units are held or sold in the sale before it ends.
UNITS_MIN = 4
SELLS_SECONDS_MAX = 15.0
# On a busy machine.
PUBLISH_SECONDS_MAX = 30.0
# Unsold units are looked for every ten seconds, and only units without a hold can go back.
RETURN_SECONDS_MAX = 40.0
REASON = "fault harness"
READY = b"ready\n"
PUBLISHING = "from seckill.publication import publish_sale; print('ready', flush=True); input(); publish_sale"


class SaleFromShelf(Fault):
    """The sale is published while the shop sells the same product, and closed while units of it are held."""

    name = "sale-published-while-bought"
    description = "a sale takes its units while they are bought in the shop, and returns the unsold ones at its end"
    starts_after_seconds = (1.0, 2.0)
    duration_seconds = 4.0
    stock = Stock(quantity=IN_SALE)
    demand = Demand(buyers=24, shoppers=40, arrival_seconds=8.0, retry_seconds_max=10.0)
    shelf = Shelf(products=1, units=70)
    # Units that return to the shop are no longer in the sale.
    quantity_moved = True

    @classmethod
    def open_item(cls, stock: Stock, goods: Goods) -> SaleItem:
        (variant_id,) = goods.variant_ids.values()
        return unpublished_item(cls.name, stock, variant_id=variant_id)

    def inject(self) -> None:
        """As the admin does it. Then wait until some have bought in the sale too, on a busy machine."""
        connection.close()
        publish_sale(sale_id=self.context.item.sale_id)
        self.happened = self.shop.wait_until(self._sells, seconds_max=SELLS_SECONDS_MAX)

    def _sells(self) -> bool:
        counters = ledger.read(item_id=self.context.item.pk)
        return counters is not None and counters.held + counters.sold >= UNITS_MIN

    def undo(self) -> None:
        """The sale is over before its time."""
        connection.close()
        make_change(kind=SaleChange.Kind.END_NOW, sale_id=self.context.item.sale_id, reason=REASON, made_by=None)

    def violations(self) -> Sequence[str]:
        connection.close()
        item = SaleItem.objects.get(pk=self.context.item.pk)
        entries = StockChange.objects.filter(variant=item.variant_id, reference=reference_of(item.sale_id))
        taken, returned = (
            entries.filter(kind=kind).aggregate(units=Sum("units", default=0))["units"]
            for kind in (StockChange.Kind.TO_SALE, StockChange.Kind.FROM_SALE)
        )
        self.variant = f"{self.variant} {taken} units to the sale, {item.taken} sold, {returned} returned".strip()
        found = []
        if taken != IN_SALE:
            found.append(f"{taken} units were taken out of the stock for a sale of {IN_SALE}")
        if returned != IN_SALE - item.taken:
            found.append(f"{returned} units came back of {IN_SALE - item.taken} that the sale did not sell")
        return found


class KilledInPublishing(SaleFromShelf):
    """The manager presses the button again."""

    name = "killed-in-publishing"
    description = "a process dies while it publishes a sale of units that are bought in the shop, and it is repeated"

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._publisher = Publisher(context.shop, sale_id=context.item.sale_id)

    def inject(self) -> None:
        place = self.rng.choice(["publication.before_commit", "publication.after_commit"])
        self.variant = f"{place};"
        with self.shop.failpoint(place, visit=1) as died:
            self._publisher.publish()
            was_killed = died()
        super().inject()
        self.happened &= was_killed


class Publisher:
    """A process that a failpoint can kill. It is started before the buyers come, and publishes when it is told to."""

    def __init__(self, shop: ShopUnderTest, *, sale_id: int) -> None:
        self._shop = shop
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "shell", "-c", f"{PUBLISHING}(sale_id={sale_id})"],
            env=shop.environment_of("web"),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        while self._process.stdout.readline() not in (READY, b""):
            pass

    def publish(self) -> None:
        """Tell it to, and wait until it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.close()
        self._shop.wait_until(lambda: self._process.poll() is not None, seconds_max=PUBLISH_SECONDS_MAX)
        self._process.kill()


class KilledInReturning(SaleFromShelf):
    """A worker returns what the sale has not sold, and dies; a sweep finishes it."""

    name = "killed-in-returning"
    description = "a worker dies while it returns the unsold units of a sale to the stock of the shop"

    def undo(self) -> None:
        super().undo()
        place = self.rng.choice(["changes.before_store", "changes.after_store"])
        self.variant = f"{place};"
        with self.shop.failpoint(place, visit=1) as died:
            self.happened &= self.shop.wait_until(died, seconds_max=RETURN_SECONDS_MAX)
