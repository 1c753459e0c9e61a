"""A sale under everything that can happen to it, in any order, beside a model that says what ought to come of it.

After each step both stores hold exactly what the model holds, and the promises of docs/design.md hold by themselves. At
the end everything comes to rest: what was paid is sold, all the rest is back, and all of it can be sold again.
"""

import sys
from collections import Counter
from contextlib import suppress
from typing import Any, ClassVar
from unittest import mock
from uuid import UUID

from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from orders.life import intake, lifecycle, settlement
from orders.life.readmission import bring_back
from orders.models import OrderStatus
from orders.repair.store_watch import reconcile_if_needed
from seckill import ledger
from seckill.changes import journal
from seckill.changes.rules import OF_ITEM, CannotChange
from seckill.line.waiting_list import sweep_lines
from seckill.models import SaleChange
from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.passes import passes, receipts
from seckill.passes.receipts import Receipt
from seckill.store.client import StoreUnreachable
from tests.orders.properties.sale_model import ENDED, OPEN, UPCOMING, Change, Kind, SaleModel, Terms
from tests.orders.properties.world import HOUR, Cast, Recorded, World, commits_that_wait
from tests.own_store import OwnStore
from tests.steps.shop import variant_of

# The buyers in the rules; the others buy at the end all that is left.
REGULARS = 3
BUYERS = st.integers(0, REGULARS - 1)
KEYS = st.sampled_from(["item", "buyers", "holds", "outbox"])
FAULTS = st.sampled_from(["kill", "kill", "flush scripts", "empty", "lose a key", "back up", "put back"])
UNITS = st.integers(1, 3)
# By those who come too late.
WANTED = st.lists(UNITS, max_size=3)
WORKER_DIES = st.sampled_from(["", "", "", "intake.before_commit", "intake.after_commit"])
ORDER_DIES = st.sampled_from(["", "", "lifecycle.after_commit"])
# More often than anybody waits, expires or buys.
PASSED_ON_MAX = 200
# Longer than any example: a worker takes over entries when a rule says so, and never by the clock.
NEVER_MS = 3_600_000

store_up = precondition(lambda self: self.model.store_is_up)
unanswered = precondition(lambda self: not (self.model.store_is_up and self.model.store.answers))
# What a change does to an item with a missing part depends on counters that are no longer maintained.
changeable = precondition(lambda self: not self.model.store.missing - {"item"} or "item" in self.model.store.missing)

# The end of a sale returns what is unsold by itself. Draws and waiting rooms have tests of their own.
BY_STAFF = [kind for kind in Kind if kind not in (Kind.RETURN_UNSOLD, Kind.DRAW, Kind.PACE)]
WITH_UNITS = (Kind.ADD_UNITS, Kind.WITHDRAW_UNITS, Kind.UNITS_PER_BUYER)


class SaleMachine(RuleBasedStateMachine):
    own_store: ClassVar[OwnStore]
    cast: ClassVar[Cast]

    taken_passes: Bundle[Any] = Bundle("taken_passes")
    model_type: ClassVar[type[SaleModel]] = SaleModel
    model: Any
    world: World

    @initialize(
        target=taken_passes,
        quantity=st.one_of(st.integers(1, 6), st.integers(1, 6), st.none()),
        limit=st.integers(1, 3),
        upcoming=st.sampled_from([False, False, False, True]),
        line=st.one_of(st.none(), WANTED, WANTED),
        first=st.lists(st.tuples(BUYERS, UNITS), max_size=4),
    )
    def publish(
        self,
        quantity: int | None,
        limit: int,
        upcoming: bool,
        first: list[tuple[int, int]],
        line: list[int] | None = None,
    ) -> MultipleResults[tuple[str, int]]:
        """The item is on sale, the first buyers have orders, and those in the `line` come too late. None: no line."""
        terms = Terms(quantity, limit, window=UPCOMING if upcoming else OPEN, waiting_list=line is not None)
        self.world = World(self.own_store, self.cast, terms)
        self.model = self.model_type(terms)
        self.receipts: dict[str, Receipt] = {}
        self.model.price = variant_of(self.cast.product).price_minor
        self.sweep_line()
        taken = [self.new_pass() for _ in first]
        for reservation, (buyer, units) in zip(taken, first, strict=True):
            self.ask(reservation, buyer, units)
        self.drain(500, False, "")
        late = [] if line is None or upcoming else self.the_rest_is_sold_and_people_wait(line).values
        return multiple(*((reservation, buyer) for reservation, (buyer, _) in zip(taken, first, strict=True)), *late)

    def the_rest_is_sold_and_people_wait(self, wanted: list[int]) -> MultipleResults[tuple[str, int]]:
        """Overridden by the machine with a waiting list."""
        return multiple()

    # --- buyers ---

    @rule(target=taken_passes, buyer=BUYERS, units=UNITS, dies=WORKER_DIES)
    def buy(self, buyer: int, units: int, dies: str) -> tuple[str, int]:
        """A reservation, and immediately the worker that makes it an order."""
        reservation = self.new_pass()
        self.ask(reservation, buyer, units)
        self.drain(500, False, dies)
        return reservation, buyer

    @rule(target=taken_passes, buyer=BUYERS, units=UNITS)
    def reserve(self, buyer: int, units: int) -> tuple[str, int]:
        reservation = self.new_pass()
        self.ask(reservation, buyer, units)
        return reservation, buyer

    @rule(taken=taken_passes, units=UNITS)
    def retry(self, taken: tuple[str, int], units: int) -> None:
        """The same pass again; a client may even ask for other units with it."""
        self.ask(*taken, units)

    def new_pass(self) -> str:
        return str(passes.new_reservation_id(self.world.item_id))

    def ask(self, reservation: str, buyer: int, units: int) -> Outcome | None:
        """Reserve, and compare the answer with the model's."""
        ids: dict[str, Any] = {"item_id": self.world.item_id, "reservation_id": UUID(reservation)}
        try:
            answer = ledger.reserve(**ids, buyer_id=self.cast.buyer_ids[buyer], units=units)
        except StoreUnreachable:
            assert not self.model.store_is_up
            return None
        assert self.model.store_is_up
        expected = self.model.reserve(reservation, buyer, units)
        assert answer.outcome is expected
        if expected in (Outcome.RESERVED, Outcome.ALREADY_RESERVED):
            assert answer.units == self.model.store.holds[reservation].units
            pass_ = passes.Pass(self.world.item_id, self.cast.buyer_ids[buyer], UUID(reservation))
            text = receipts.issue(pass_=pass_, reservation_id=reservation, reservation=answer)
            self.receipts[reservation] = receipts.read(text)
        if expected is Outcome.RESERVED:
            assert answer.left == self.model.store.left
            assert self.model.store.buyers[buyer] <= self.model.store.terms.limit
        return expected

    @rule(taken=taken_passes)
    def bring_receipt(self, taken: tuple[str, int]) -> None:
        """Needed or not, the buyer brings the receipt of the last yes."""
        reservation, buyer = taken
        receipt = self.receipts.get(reservation)
        if receipt is None:
            return
        try:
            found = bring_back(receipt)
        except StoreUnreachable:
            assert not self.model.store_is_up
            assert reservation not in self.model.orders
            return
        assert self.model.store_is_up or reservation in self.model.orders
        assert found is self.model.bring_back(reservation, buyer, receipt.units)

    @rule(taken=taken_passes, fault=FAULTS, key=KEYS)
    def receipt_is_needed(self, taken: tuple[str, int], fault: str, key: str) -> None:
        """Something happens to the store, the shop mends it, and the buyer comes back."""
        self.fault_is_mended(fault, key)
        self.bring_receipt(taken)

    # --- the worker ---

    @rule(count_max=st.sampled_from([500, 500, 1, 2]), takes_over=st.booleans(), dies=WORKER_DIES)
    def drain(self, count_max: int, takes_over: bool, dies: str) -> None:
        idle_ms = 0 if takes_over else NEVER_MS
        handled = -1
        with mock.patch.object(outbox, "TAKE_OVER_IDLE_MS", idle_ms), self.world.dying_at(dies):
            try:
                handled = intake.drain_once(item_id=self.world.item_id, batch_max=count_max)
            except StoreUnreachable:
                assert not self.model.store_is_up
                return
        entries = self.model.read(count_max, takes_over=takes_over)
        assert handled == (-1 if dies and entries else len(entries))
        if dies != "intake.before_commit":
            self.model.persist({name: self.model.store.outbox[name] for name in entries})
            if not dies:
                self.model.acknowledge(entries)

    @store_up
    @rule(count_max=st.integers(1, 3))
    def worker_dies_with_entries(self, count_max: int) -> None:
        with mock.patch.object(outbox, "TAKE_OVER_IDLE_MS", NEVER_MS):
            outbox.read_batch(item_id=self.world.item_id, count_max=count_max, consumer="a worker that dies")
        self.model.read(count_max, takes_over=False)

    # --- the order's life ---

    @rule(taken=taken_passes, dies=ORDER_DIES)
    def pay(self, taken: tuple[str, int], dies: str) -> None:
        order = self.model.orders.get(taken[0])
        if order:
            due = order.status == OrderStatus.AWAITING_PAYMENT and not order.turn
            with self.world.dying_at(dies):
                assert lifecycle.pay(order_id=self.world.order_id(taken[0])) is due
            if due:
                self.model.end(taken[0], OrderStatus.PAID, tells=not dies)

    @rule(taken=taken_passes, dies=ORDER_DIES)
    def cancel(self, taken: tuple[str, int], dies: str) -> None:
        order = self.model.orders.get(taken[0])
        if order:
            due = order.status == OrderStatus.AWAITING_PAYMENT
            with self.world.dying_at(dies):
                assert lifecycle.cancel(order_id=self.world.order_id(taken[0])) is due
            if due:
                self.model.end(taken[0], OrderStatus.CANCELLED, tells=not dies)

    @rule(taken=taken_passes, units_back=st.booleans(), dies=ORDER_DIES)
    def refund(self, taken: tuple[str, int], units_back: bool, dies: str) -> None:
        order = self.model.orders.get(taken[0])
        if order:
            due = order.status in (OrderStatus.PAID, OrderStatus.SHIPPED)
            with self.world.dying_at(dies):
                assert lifecycle.refund(order_id=self.world.order_id(taken[0]), units_back=units_back) is due
            if due:
                status = self.model.refund(taken[0], units_back=units_back)
                self.model.end(taken[0], status, tells=not dies)

    @rule(taken=taken_passes)
    def ship(self, taken: tuple[str, int]) -> None:
        order = self.model.orders.get(taken[0])
        if order:
            due = order.status == OrderStatus.PAID
            assert lifecycle.ship(order_id=self.world.order_id(taken[0])) is due
            order.status = OrderStatus.SHIPPED if due else order.status

    @rule(taken=taken_passes)
    def deadline_passes(self, taken: tuple[str, int]) -> None:
        order = self.model.orders.get(taken[0])
        if order and not order.turn:
            self.world.let_pass(taken[0], turn=self.model.let_pass(taken[0]))

    @rule(count_max=st.sampled_from([500, 500, 1]), dies=ORDER_DIES)
    def expire(self, count_max: int, dies: str) -> None:
        # Those that expire together are settled in any order, which decides who in the line gets their units.
        count_max = 1 if self.model.store.line else count_max
        overdue = self.model.overdue(count_max)
        expired = len(overdue)
        with self.world.dying_at(dies):
            expired = lifecycle.expire_overdue(batch_max=count_max)
        assert expired == len(overdue)
        for reservation in overdue:
            self.model.end(reservation, OrderStatus.EXPIRED, tells=not dies)

    @rule()
    def settle(self) -> None:
        # As above.
        for reservation in [*self.model.orders] if self.model.store.line else []:
            order_id = self.world.order_id(reservation)
            assert settlement.settle_orders(order_ids=[order_id]) == self.model.settle([reservation])
        assert settlement.settle_orders() == self.model.settle()

    @rule()
    def sweep_line(self) -> None:
        with suppress(StoreUnreachable):
            sweep_lines()
        self.model.sweep_line()

    # --- changes of the running sale ---

    @changeable
    @rule(
        kind=st.sampled_from([*BY_STAFF, Kind.ADD_UNITS, Kind.WITHDRAW_UNITS]),
        units=UNITS,
        dies=st.sampled_from(["", "", "changes.before_store", "changes.after_store"]),
    )
    def change(self, kind: SaleChange.Kind, units: int, dies: str) -> None:
        of_item = kind in OF_ITEM
        wanted = Change(kind, units)
        allowed = self.model.may_change(wanted)
        try:
            with commits_that_wait(), self.world.dying_at(dies):
                journal.make_change(
                    kind=kind,
                    reason="because",
                    made_by=None,
                    item_id=self.world.item_id if of_item else None,
                    sale_id=None if of_item else self.world.sale.pk,
                    units=units if kind in WITH_UNITS else None,
                    closes_at=timezone.now() + 3 * HOUR if kind == Kind.MOVE_END else None,
                )
        except CannotChange:
            assert not allowed
            return
        assert allowed
        self.model.note(wanted)
        self.model.apply_changes(dies=dies)

    @changeable
    @rule(
        kind=st.sampled_from([Kind.ADD_UNITS, Kind.WITHDRAW_UNITS]),
        units=UNITS,
        dies=st.sampled_from(["changes.before_store", "changes.after_store"]),
    )
    def change_is_repeated(self, kind: SaleChange.Kind, units: int, dies: str) -> None:
        """The process that made the change crashes, and the sweep runs immediately."""
        self.change(kind, units, dies)
        self.sweep_changes()

    @changeable
    @rule()
    def sweep_changes(self) -> None:
        journal.sweep_changes()
        self.model.apply_changes()

    @precondition(lambda self: self.model.terms.window == UPCOMING)
    @rule()
    def doors_open(self) -> None:
        in_store = self.model.store_is_up and self.model.store.item_there
        self.world.doors_open(in_store=in_store)
        self.model.terms.window = OPEN
        if in_store:
            self.model.store.terms.window = OPEN

    # --- faults and repairs ---

    @rule(fault=FAULTS, key=KEYS)
    def fault(self, fault: str, key: str) -> None:
        """One rule for all faults, so that most steps are still those of buyers."""
        store_is_up, store = self.model.store_is_up, self.model.store
        if fault == "kill" and store_is_up:
            self.own_store.kill()
            self.model.store_is_up = False
        elif fault == "kill":
            self.store_comes_back()
        elif fault == "flush scripts" and store_is_up:
            self.world.client.script_flush()
        elif fault == "empty" and store_is_up:
            self.world.client.flushall()
            store.lose("item", "buyers", "holds", "outbox")
            store.applied.clear()
            store.line.clear()
        elif fault == "lose a key" and store_is_up and store.has(key):
            self.world.client.delete(getattr(self.world.keys, key))
            store.lose(key)
        elif fault == "back up" and store_is_up:
            self.world.back_up()
            self.model.back_up()
        elif fault == "put back" and store_is_up and self.model.backup:
            self.world.put_back()
            self.model.put_back()
        self.model.forgive()

    @precondition(lambda self: not self.model.store_is_up)
    @rule()
    def store_comes_back(self) -> None:
        self.own_store.start()
        self.model.restart()

    @rule(fault=FAULTS, key=KEYS)
    def fault_is_mended(self, fault: str, key: str) -> None:
        self.fault(fault, key)
        self.reconcile("")

    @unanswered
    @rule()
    def everything_is_mended(self) -> None:
        """Keeps the sale running most of the time, so that faults have something to damage."""
        self.reconcile("")

    @unanswered
    @rule(dies=st.sampled_from(["", "", "", "reconcile.before_verified"]))
    def reconcile(self, dies: str) -> None:
        if not self.model.store_is_up and not dies:
            self.store_comes_back()
        with self.world.dying_at(dies):
            try:
                reconcile_if_needed(item_ids=[self.world.item_id])
            except StoreUnreachable:
                assert not self.model.store_is_up
                return
        assert self.model.store_is_up
        if not self.model.store.answers:
            self.model.reconcile(dies=bool(dies))

    # --- what holds always ---

    @invariant()
    def postgresql_says_what_the_model_says(self) -> None:
        found = self.world.recorded()
        assert {row.reservation: row[1:6] for row in found.orders} == {
            name: (self.cast.buyer_ids[order.buyer], order.units, order.status, order.settled, order.units_back)
            for name, order in self.model.orders.items()
        }
        quantity, limit, taken = found.item
        assert taken == self.model.taken
        assert quantity is None or taken <= quantity
        assert (quantity, limit) == (self.model.terms.quantity, self.model.terms.limit)
        self.money_is_where_the_model_says(found)

    def money_is_where_the_model_says(self, found: Recorded) -> None:
        """Overridden by the machine with payments."""

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        store = self.model.store
        if not self.model.store_is_up or store.missing:
            return
        found, ids = self.world.stored(), self.cast.buyer_ids
        assert found.holds == {
            name: (hold.state, str(ids[hold.buyer]), str(hold.units)) for name, hold in store.holds.items()
        }
        assert found.outbox == {name: entry.read for name, entry in store.outbox.items()}
        item = found.item
        counted = {name: int(item[name]) for name in ("quantity", "left", "held", "sold") if name in item}
        assert counted.get("quantity") == store.terms.quantity
        assert counted.get("left") == store.left
        assert (counted["held"], counted["sold"]) == (store.units("held"), store.units("sold"))
        assert counted.get("left", 0) >= 0
        assert counted.get("quantity", 0) == sum(counted.get(name, 0) for name in ("left", "held", "sold")) or (
            store.terms.quantity is None
        )
        assert found.buyers == Counter({ids[buyer]: units for buyer, units in store.buyers.items()})
        assert (item["state"] == "paused") is store.terms.paused
        assert int(item["per_buyer_max"]) == store.terms.limit
        assert found.line == [(str(ids[place.buyer]), place.reservation) for place in store.line]
        if store.line_open:
            self.world.check_line()

    @invariant()
    def nobody_who_was_told_yes_is_lost(self) -> None:
        known = self.model.orders.keys() | self.model.store.outbox.keys() | self.model.store.holds.keys()
        assert self.model.told_yes - self.model.forgiven <= known

    @invariant()
    def what_is_not_verified_is_unavailable(self) -> None:
        if self.model.store_is_up and not self.model.store.answers:
            assert self.ask(self.new_pass(), 0, 1) is Outcome.UNAVAILABLE
            if not self.model.store.verified or not self.model.store.item_there:
                assert ledger.read(item_id=self.world.item_id) is None

    # --- the end ---

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None and hasattr(self, "model"):
                self.come_to_rest()
                self.everything_left_can_be_sold()
        finally:
            if hasattr(self, "model") and not self.model.store_is_up:
                self.own_store.start()

    def come_to_rest(self) -> None:
        """No more faults; the sweeps run and all deadlines pass: nothing is held, and unpaid units are back on sale."""
        if not self.model.store_is_up:
            self.store_comes_back()
        if self.model.terms.window == UPCOMING:
            self.doors_open()
        self.reconcile(dies="")
        self.sweep_changes()
        self.drain(500, True, "")
        self.decide_late_money()
        self.settle()
        self.sweep_line()
        self.nobody_pays()
        assert self.model.store.units("sold") == self.model.taken
        assert not self.model.store.outbox
        assert not self.model.pending
        assert all(order.settled for order in self.model.orders.values())
        assert self.model.told_yes - self.model.forgiven <= self.model.orders.keys()

    def nobody_pays(self) -> None:
        """All deadlines pass, also of those in line to whom the units are passed on."""
        for _ in range(PASSED_ON_MAX):
            self.drain(500, True, "")
            for reservation in self.model.orders:
                self.deadline_passes((reservation, 0))
            self.expire(500, "")
            self.check()
            if not self.model.store.units("held"):
                return
        raise AssertionError("units stay held")

    def decide_late_money(self) -> None:
        """Overridden by the machine with payments."""

    def everything_left_can_be_sold(self) -> None:
        """Without faults every unit left can be reserved, and not one more; unpaid, all of them come back."""
        if self.model.terms.sale_paused:
            self.change(Kind.RESUME, 1, "")
        if self.model.terms.window == ENDED:
            self.change(Kind.MOVE_END, 1, "")
        if self.model.terms.item_paused:
            self.change(Kind.RESUME_ITEM, 1, "")
        self.nobody_pays()
        assert not self.model.store.kept_for_the_line, "units lie idle while somebody waits for them"
        left = self.model.store.left
        yes = 0
        for buyer in range(REGULARS, len(self.cast.buyer_ids)):
            if self.ask(self.new_pass(), buyer, 1) is not Outcome.RESERVED:
                break
            yes += 1
            if left is None and yes == 3:
                break
        assert yes == (3 if left is None else left)
        self.nobody_pays()
        assert self.model.store.left == left

    def check(self) -> None:
        """The invariants, between steps of the end."""
        self.postgresql_says_what_the_model_says()
        self.the_store_says_what_the_model_says()
