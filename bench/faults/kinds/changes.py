"""Staff change a running sale: they add and withdraw units, pause and resume it, and a process dies during a change."""

from collections.abc import Sequence

from django.db import connection

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, Part, TrialContext
from seckill import ledger
from seckill.changes import journal
from seckill.changes.effect import adjustment_of
from seckill.changes.rules import CannotChange, ChangeRequest
from seckill.models import SaleChange, SaleItem

Kind, Status = SaleChange.Kind, SaleChange.Status

REASON = "fault harness"
SIGNS: dict[str, int] = {Kind.ADD_UNITS: 1, Kind.WITHDRAW_UNITS: -1}


class ChangeFault(Fault):
    """At the end both stores must have the quantity that the applied changes add up to, and none may be pending."""

    quantity_moved = True

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._refused_at_once = 0

    def change(self, kind: SaleChange.Kind, *, units: int | None = None) -> None:
        """As the admin does it."""
        of_sale = kind in (Kind.PAUSE, Kind.RESUME)
        try:
            journal.make_change(
                kind=kind,
                reason=REASON,
                made_by=None,
                sale_id=self.context.item.sale_id if of_sale else None,
                item_id=None if of_sale else self.context.item.pk,
                units=units,
            )
        except CannotChange:
            self._refused_at_once += 1

    def violations(self) -> Sequence[str]:
        connection.close()
        item = SaleItem.objects.get(pk=self.context.item.pk)
        entries = list(SaleChange.objects.filter(item=item))
        expected = self.context.item.quantity or 0
        for change in entries:
            if change.status == Status.APPLIED:
                expected += SIGNS.get(change.kind, 0) * (change.units or 0)
        counters = ledger.read(item_id=item.pk)
        in_store = counters.quantity if counters else None
        applied = sum(change.status == Status.APPLIED for change in entries)
        self.variant = f"{applied} changes applied, {len(entries) - applied + self._refused_at_once} refused"
        pending = sum(change.status == Status.PENDING for change in entries)
        violations = [f"{pending} changes are pending"] if pending else []
        if not item.quantity == in_store == expected:
            violations.append(
                f"the changes add up to {expected} units, PostgreSQL has {item.quantity}, the store {in_store}"
            )
        return violations

    def took_effect(self) -> bool:
        return self.happened and SaleChange.objects.filter(item=self.context.item, status=Status.APPLIED).exists()


class StockChanged(ChangeFault):
    name = "stock-changed"
    description = "units are added and withdrawn, and the sale is paused and resumed"
    duration_seconds = 0.5
    demand = Demand(buyers=80, arrival_seconds=8.0)
    disturbs = frozenset({Part.CHANGES})
    needs = frozenset({Part.POSTGRES, Part.STORE})

    def inject(self) -> None:
        for _round in range(4):
            for kind in self.rng.sample([Kind.ADD_UNITS, Kind.ADD_UNITS, Kind.WITHDRAW_UNITS], 3):
                self.change(kind, units=self.rng.randint(1, 6))
                self.shop.wait(self.rng.uniform(0.05, 0.4))
            self.change(Kind.PAUSE)
            self.shop.wait(self.rng.uniform(0.1, 0.4))
            self.change(Kind.RESUME)


class WorkerKilledInChange(ChangeFault):
    """The change is written to the journal, and the sweep applies it in a worker."""

    name = "worker-killed-in-change"
    description = "a worker dies after a change of the stock in the store and before it is in PostgreSQL"
    demand = Demand(buyers=80)
    disturbs = frozenset({Part.WORKER, Part.CHANGES})
    needs = frozenset({Part.POSTGRES, Part.STORE})

    def inject(self) -> None:
        kind = self.rng.choice([Kind.ADD_UNITS, Kind.WITHDRAW_UNITS])
        request = ChangeRequest(kind=kind, reason=REASON, units=self.rng.randint(1, 6), closes_at=None)
        with self.shop.failpoint("changes.after_store", visit=1) as died:
            journal.record_pending(request, item_id=self.context.item.pk, made_by=None)
            self.happened = self.shop.wait_until(died, seconds_max=INJECT_SECONDS_MAX)

    def took_effect(self) -> bool:
        """Also if the store refused the change."""
        return self.happened


class StoreRestartedInAddition(ChangeFault):
    """No worker runs, so that the addition is not finished before the units are reserved and the store restarts."""

    name = "store-restarted-in-addition"
    description = "a process dies after it added units in the store, the units are reserved, and the store restarts"
    duration_seconds = 1.0
    demand = Demand(buyers=80)
    disturbs = frozenset({Part.STORE, Part.WORKER, Part.CHANGES})
    needs = frozenset({Part.POSTGRES})

    def inject(self) -> None:
        item_id = self.context.item.pk
        request = ChangeRequest(kind=Kind.ADD_UNITS, reason=REASON, units=self.rng.randint(3, 8), closes_at=None)
        self.shop.keep_down("worker")
        (change,) = journal.record_pending(request, item_id=item_id, made_by=None)
        # The first half of `journal.apply_next`; the second half is lost with the process.
        ledger.adjust(item_id=item_id, operation_id=change.operation_id, adjustment=adjustment_of(change))
        self.happened = self.shop.wait_until(self._added_units_are_reserved, seconds_max=INJECT_SECONDS_MAX)
        self.shop.kill("store")

    def _added_units_are_reserved(self) -> bool:
        counters = ledger.read(item_id=self.context.item.pk)
        return counters is not None and counters.held + counters.sold > (self.context.item.quantity or 0)

    def undo(self) -> None:
        self.shop.bring_up("worker")
