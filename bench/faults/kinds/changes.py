"""The staff change a sale that runs: units come and go, it is paused and resumed, and a process dies in between."""

from collections.abc import Sequence

from django.db import connection

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Stage
from seckill import ledger
from seckill.changes import journal
from seckill.changes.rules import CannotChange, Wanted
from seckill.models import SaleChange, SaleItem

Kind, Status = SaleChange.Kind, SaleChange.Status

REASON = "fault harness"
SIGNS: dict[str, int] = {Kind.ADD_UNITS: 1, Kind.WITHDRAW_UNITS: -1}
STRIKE_SECONDS_MAX = 15.0


class ChangeFault(Fault):
    """In the end both stores must have the quantity that the applied changes add up to, and none is pending."""

    quantity_moved = True

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._refused_at_once = 0

    def change(self, kind: SaleChange.Kind, *, units: int | None = None) -> None:
        """As the admin does it."""
        of_sale = kind in (Kind.PAUSE, Kind.RESUME)
        try:
            journal.make_change(
                kind=kind,
                reason=REASON,
                made_by=None,
                sale_id=self.stage.item.sale_id if of_sale else None,
                item_id=None if of_sale else self.stage.item.pk,
                units=units,
            )
        except CannotChange:
            self._refused_at_once += 1

    def broken(self) -> Sequence[str]:
        connection.close()
        item = SaleItem.objects.get(pk=self.stage.item.pk)
        journal = list(SaleChange.objects.filter(item=item))
        expected = self.stock.quantity
        for change in journal:
            if change.status == Status.APPLIED:
                expected += SIGNS.get(change.kind, 0) * (change.units or 0)
        counters = ledger.read(item_id=item.pk)
        in_store = counters.quantity if counters else None
        applied = sum(change.status == Status.APPLIED for change in journal)
        self.variant = f"{applied} changes applied, {len(journal) - applied + self._refused_at_once} refused"
        pending = sum(change.status == Status.PENDING for change in journal)
        words = [f"{pending} changes are pending"] if pending else []
        if not item.quantity == in_store == expected:
            words.append(
                f"the changes add up to {expected} units, PostgreSQL has {item.quantity}, the store {in_store}"
            )
        return words

    def struck(self) -> bool:
        return SaleChange.objects.filter(item=self.stage.item, status=Status.APPLIED).exists()


class StockChanged(ChangeFault):
    name = "stock-changed"
    what = "units are added and withdrawn, and the sale is paused and resumed, while buyers buy"
    lasts_seconds = 0.5
    demand = Demand(buyers=80, arrival_seconds=8.0)

    def inject(self) -> None:
        for _turn in range(4):
            for kind in self.dice.sample([Kind.ADD_UNITS, Kind.ADD_UNITS, Kind.WITHDRAW_UNITS], 3):
                self.change(kind, units=self.dice.randint(1, 6))
                self.site.wait(self.dice.uniform(0.05, 0.4))
            self.change(Kind.PAUSE)
            self.site.wait(self.dice.uniform(0.1, 0.4))
            self.change(Kind.RESUME)


class WorkerKilledInChange(ChangeFault):
    """The change is in the journal, and the sweep applies it in a worker."""

    name = "worker-killed-in-change"
    what = "a worker dies when the store has taken a change of the stock and PostgreSQL does not know it"
    demand = Demand(buyers=80)

    def inject(self) -> None:
        kind = self.dice.choice([Kind.ADD_UNITS, Kind.WITHDRAW_UNITS])
        wanted = Wanted(kind=kind, reason=REASON, units=self.dice.randint(1, 6), closes_at=None)
        with self.site.failpoint("changes.after_store", visit=1) as died:
            journal.write_down(wanted, item_id=self.stage.item.pk, made_by=None)
            self._died = self.site.wait_until(died, seconds_max=STRIKE_SECONDS_MAX)

    def struck(self) -> bool:
        return self._died
