"""A worker dies while it carries out a draw: the draw goes on, its result is the published one, and no unit is lost."""

from collections.abc import Sequence

from django.db import connection

from bench import load_buyers
from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part
from bench.faults.trial_sale import SALE_SECONDS
from bench.load_sale import open_load_sale, retire
from orders.repair.audit import audit
from seckill.draw.entering import EntryWord, enter
from seckill.draw.verification import faults_of_rows
from seckill.models import Draw, DrawEntry, Sale

INJECT_SECONDS_MAX = 30.0
# Far above the buyers of a trial.
BUYERS_FIRST, BUYERS = 5_000, 60
UNITS = 20
# Long enough that nobody passes on before the trial ends.
HOLD_SECONDS = 600
# Sixty entries are made in a part of a second; a busy machine once took more than three.
ENTRIES_SECONDS = 6
PLACES = ("draw.before_closed", "draw.before_drawn", "draw.after_drawn", "draw.after_reserve")


class WorkerKilledInDraw(Fault):
    name = "worker-killed-in-draw"
    description = "a worker dies while a draw is being carried out"
    demand = Demand(buyers=60)
    disturbs = frozenset({Part.WORKER})
    needs = frozenset({Part.POSTGRES, Part.STORE, Part.BEAT, Part.BROKER})

    def inject(self) -> None:
        place = self.rng.choice(PLACES)
        self.variant = f"at {place}"
        buyer_ids = load_buyers.load_buyer_ids(count=BUYERS, first=BUYERS_FIRST)
        self._item = open_load_sale(
            name=self.name,
            quantity=UNITS,
            per_buyer_max=1,
            open_seconds=SALE_SECONDS,
            hold_seconds=HOLD_SECONDS,
            opens_in_seconds=ENTRIES_SECONDS,
            admission=Sale.Admission.DRAW,
        )
        words = {enter(item=self._item, buyer_id=buyer_id, units=1).word for buyer_id in buyer_ids}
        with self.shop.failpoint(place, visit=1) as died:
            self.happened = self.shop.wait_until(died, seconds_max=INJECT_SECONDS_MAX) and words == {EntryWord.ENTERED}

    def violations(self) -> Sequence[str]:
        connection.close()
        self.shop.wait_until(self._is_given, seconds_max=INJECT_SECONDS_MAX)
        connection.close()
        draw = Draw.objects.get(pk=self._item.sale_id)
        found = faults_of_rows(draw) if draw.drawn_at else ["the draw was not carried out"]
        if not self._is_given():
            found.append("not every winner has an order")
        problems = audit(item_id=self._item.pk).comparison.problem_count
        if problems:
            found.append(f"the stores differ in {problems} places")
        retire(self._item)
        return found

    def _is_given(self) -> bool:
        self._item.refresh_from_db(fields=["taken"])
        winners = DrawEntry.objects.filter(item=self._item, status=DrawEntry.Status.WON, reserved_at__isnull=False)
        return winners.count() == UNITS == self._item.taken
