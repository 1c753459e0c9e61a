"""What the shop ought to know and to answer, as plain dictionaries: nothing of it is read from the shop.

`StoreModel` is what the reservation store is to hold, `SaleModel.orders` and the terms beside it what PostgreSQL is to
hold. Where a fault takes something away, the model says what was promised nevertheless, and what was not (`forgiven`).
"""

import itertools
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

from orders.life.readmission import Readmission
from orders.models import LIVE, SOLD, OrderStatus
from seckill.ledger_words import Departed, HandedOn, Joined
from seckill.models import SaleChange
from seckill.outcomes import Outcome

Kind = SaleChange.Kind

# Only these reasons release sold units.
MONEY_BACK = (OrderStatus.REFUND_DUE, OrderStatus.REFUNDED)

UPCOMING, OPEN, ENDED = "upcoming", "open", "ended"


@dataclass
class Hold:
    state: str
    buyer: int
    units: int


@dataclass
class Place:
    """A buyer's place in the waiting list."""

    reservation: str
    buyer: int
    units: int


@dataclass
class Entry:
    """An outbox entry; `read` once a worker was given it."""

    buyer: int
    units: int
    read: bool = False


@dataclass
class Terms:
    """`quantity` None is unlimited; `window` is upcoming, open or ended. A sale and its item are each paused alone.

    `waiting_list`: the sale has one.
    """

    quantity: int | None
    limit: int
    sale_paused: bool = False
    item_paused: bool = False
    window: str = OPEN
    waiting_list: bool = False

    @property
    def has_line(self) -> bool:
        return self.waiting_list and self.quantity is not None

    @property
    def paused(self) -> bool:
        return self.sale_paused or self.item_paused


@dataclass
class Order:
    """`turn`: in which order the deadlines passed; 0 if this one has not."""

    buyer: int
    units: int
    status: OrderStatus = OrderStatus.AWAITING_PAYMENT
    settled: bool = False
    units_back: bool = True
    turn: int = 0

    @property
    def taken(self) -> bool:
        """Whether its units are counted in `taken`."""
        return self.status in LIVE or not self.units_back

    @property
    def wanted(self) -> str:
        """The state that its hold should have in the store."""
        if self.status == OrderStatus.AWAITING_PAYMENT:
            return "held"
        return "sold" if self.status in SOLD or not self.units_back else "ended"


@dataclass
class Change:
    """A change of the terms in PostgreSQL's journal, with a number of its own."""

    kind: SaleChange.Kind
    units: int = 0
    number: int = field(default_factory=itertools.count().__next__)


@dataclass
class StoreModel:
    """The reservation store. `missing` are the keys that it has lost, `applied` the changes that it remembers.

    `line` are those who wait, in the order in which they came; while it is not open, the item does not know of it.
    """

    terms: Terms
    verified: bool = True
    missing: set[str] = field(default_factory=set)
    holds: dict[str, Hold] = field(default_factory=dict)
    outbox: dict[str, Entry] = field(default_factory=dict)
    applied: set[int] = field(default_factory=set)
    line: list[Place] = field(default_factory=list)
    line_open: bool = False

    def units(self, state: str) -> int:
        return sum(hold.units for hold in self.holds.values() if hold.state == state)

    @property
    def left(self) -> int | None:
        if self.terms.quantity is None:
            return None
        return self.terms.quantity - self.units("held") - self.units("sold")

    @property
    def buyers(self) -> Counter[int]:
        counted: Counter[int] = Counter()
        for hold in self.holds.values():
            if hold.state != "ended":
                counted[hold.buyer] += hold.units
        return counted

    @property
    def answers(self) -> bool:
        """Whether buyers get anything but `unavailable`."""
        return self.verified and not self.missing

    @property
    def item_there(self) -> bool:
        return "item" not in self.missing

    @property
    def kept_for_the_line(self) -> bool:
        """Whether units are left that are enough for somebody who waits: they are for nobody else."""
        return self.first_in_line() is not None

    def first_in_line(self) -> Place | None:
        """The first whom the units left are enough for. Nobody can have more than the limit, which may be lower now."""
        return next((place for place in self.line if min(place.units, self.terms.limit) <= (self.left or 0)), None)

    def place_of(self, buyer: int) -> Place | None:
        return next((place for place in self.line if place.buyer == buyer), None)

    def decide(self, reservation: str, buyer: int, units: int) -> Outcome:
        """The outcomes in the order of docs/design.md."""
        hold = self.holds.get(reservation)
        left, terms = self.left, self.terms
        outcomes = {
            Outcome.UNAVAILABLE: not self.answers,
            Outcome.ALREADY_RESERVED: hold is not None and hold.state != "ended",
            Outcome.HOLD_ENDED: hold is not None,
            Outcome.PAUSED: terms.paused,
            Outcome.NOT_OPEN: terms.window == UPCOMING,
            Outcome.CLOSED: terms.window == ENDED,
            Outcome.SOLD_OUT: left == 0 and self.units("held") == 0,
            Outcome.HELD_BY_OTHERS: left == 0 or self.kept_for_the_line,
            Outcome.LIMIT_REACHED: self.buyers[buyer] + units > terms.limit,
            Outcome.TOO_FEW_LEFT: left is not None and left < units,
        }
        return next((outcome for outcome, applies in outcomes.items() if applies), Outcome.RESERVED)

    def decide_to_join(self, reservation: str, buyer: int, units: int) -> Joined:
        """The words in the order of join_line.lua."""
        hold, terms = self.holds.get(reservation), self.terms
        words = {
            Joined.UNAVAILABLE: not self.answers,
            Joined.NO_LINE: not self.line_open,
            Joined.ALREADY_RESERVED: hold is not None and hold.state != "ended",
            Joined.HOLD_ENDED: hold is not None,
            Joined.ALREADY_WAITING: self.place_of(buyer) is not None,
            Joined.PAUSED: terms.paused,
            Joined.NOT_OPEN: terms.window == UPCOMING,
            Joined.CLOSED: terms.window == ENDED,
            Joined.LIMIT_REACHED: self.buyers[buyer] + units > terms.limit,
            Joined.UNITS_LEFT: (self.left or 0) >= units and not self.kept_for_the_line,
        }
        return next((word for word, applies in words.items() if applies), Joined.JOINED)

    def leave(self, reservation: str, buyer: int) -> Departed:
        place = self.place_of(buyer)
        if place is None or place.reservation != reservation:
            return Departed.NOT_WAITING
        self.line.remove(place)
        return Departed.LEFT_LINE

    def release(self, reservation: str, *, refunded: bool) -> None:
        hold = self.holds.get(reservation)
        if hold and (hold.state == "held" or (hold.state == "sold" and refunded)):
            hold.state = "ended"
        if not self.missing & {"item", "holds"} and not self.buyers:
            # No buyer has units, so the list of buyers should be empty, and losing it changes nothing.
            self.missing.discard("buyers")

    def confirm(self, reservation: str) -> None:
        hold = self.holds.get(reservation)
        if hold and hold.state == "held":
            hold.state = "sold"

    def has(self, key: str) -> bool:
        """Whether the key exists: an empty hash does not."""
        return bool({"buyers": self.buyers, "holds": self.holds}.get(key, True))

    def lose(self, *keys: str) -> None:
        self.missing |= set(keys)
        if "holds" in keys:
            self.holds.clear()
        if "outbox" in keys:
            self.outbox.clear()
        if "item" in keys:
            self.line_open = False

    def adjust(self, change: Change) -> bool:
        """Apply a change once. False where the store refuses it."""
        if change.number in self.applied:
            return True
        if change.kind == Kind.WITHDRAW_UNITS:
            assert self.left is not None
            assert self.terms.quantity is not None
            if self.left < change.units or self.terms.quantity <= change.units:
                return False
        move(self.terms, change)
        self.applied.add(change.number)
        return True


def move(terms: Terms, change: Change) -> None:
    """What a change does to the terms."""
    match change.kind:
        case Kind.ADD_UNITS:
            terms.quantity = (terms.quantity or 0) + change.units
        case Kind.WITHDRAW_UNITS:
            terms.quantity = (terms.quantity or 0) - change.units
        case Kind.UNITS_PER_BUYER:
            terms.limit = change.units
        case Kind.PAUSE | Kind.RESUME:
            terms.sale_paused = change.kind == Kind.PAUSE
        case Kind.PAUSE_ITEM | Kind.RESUME_ITEM:
            terms.item_paused = change.kind == Kind.PAUSE_ITEM
        case Kind.MOVE_END if terms.window == ENDED:
            terms.window = OPEN
        case Kind.END_NOW:
            terms.window = ENDED


class SaleModel:
    """Both stores. The methods are the steps of a purchase; each returns what the shop should answer."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.price = 0
        self.store = StoreModel(terms=deepcopy(terms))
        self.store_is_up = True
        self.backup: StoreModel | None = None
        self.orders: dict[str, Order] = {}
        self.pending: list[Change] = []
        self.told_yes: set[str] = set()
        self.forgiven: set[str] = set()
        self.turns = 0
        # Whether those who tell the store that units come back have them handed on.
        self.hands_on = True

    # --- buyers ---

    def reserve(self, reservation: str, buyer: int, units: int) -> Outcome:
        outcome = self.store.decide(reservation, buyer, units)
        if outcome is Outcome.RESERVED:
            self.hold(reservation, buyer, units)
        return outcome

    def hold(self, reservation: str, buyer: int, units: int) -> None:
        self.store.holds[reservation] = Hold("held", buyer, units)
        self.store.outbox[reservation] = Entry(buyer, units)
        self.told_yes.add(reservation)
        self.forgiven.discard(reservation)

    def bring_back(self, reservation: str, buyer: int, units: int) -> Readmission:
        """By the receipt of a yes."""
        store, quantity = self.store, self.terms.quantity
        outcomes = {
            Readmission.KNOWN: reservation in self.orders or reservation in store.holds,
            Readmission.LOST: quantity is not None and self.taken + units > quantity,
            Readmission.UNAVAILABLE: not store.answers,
            Readmission.LIMIT_REACHED: store.buyers[buyer] + units > store.terms.limit,
        }
        outcome = next((outcome for outcome, applies in outcomes.items() if applies), Readmission.READMITTED)
        if outcome is Readmission.READMITTED and store.left is not None and store.left < units:
            return Readmission.LOST
        if outcome is Readmission.READMITTED:
            store.holds[reservation] = Hold("held", buyer, units)
            store.outbox[reservation] = Entry(buyer, units)
            self.forgiven.discard(reservation)
        return outcome

    # --- the waiting list ---

    def join(self, reservation: str, buyer: int, units: int) -> Joined:
        word = self.store.decide_to_join(reservation, buyer, units)
        if word is Joined.JOINED:
            self.store.line.append(Place(reservation, buyer, units))
        return word

    def hand_on(self, people_max: int = 10) -> HandedOn:
        """Units that are left go to the first whom they are enough for, and so on.

        Each gets as many as the limit still allows. A place ends without units if its buyer has reached the limit, or
        has reserved with its pass.
        """
        store = self.store
        words = {
            HandedOn.UNAVAILABLE: not store.answers or store.terms.quantity is None,
            HandedOn.NO_LINE: not store.line_open,
            HandedOn.PAUSED: store.terms.paused,
            HandedOn.NOT_OPEN: store.terms.window == UPCOMING,
            HandedOn.CLOSED: store.terms.window == ENDED,
            HandedOn.NOBODY_FITS: not store.first_in_line(),
        }
        if refusal := next((word for word, applies in words.items() if applies), None):
            return refusal
        for _ in range(people_max):
            first = store.first_in_line()
            if first is None:
                break
            store.line.remove(first)
            units = min(first.units, store.terms.limit - store.buyers[first.buyer])
            if units >= 1 and first.reservation not in store.holds:
                self.hold(first.reservation, first.buyer, units)
        return HandedOn.HANDED_ON

    def sweep_line(self) -> None:
        """Not of a sale that is over."""
        if self.store_is_up and self.terms.has_line and self.terms.window != ENDED:
            self.store.line_open = self.store.line_open or self.store.answers
            while self.hand_on() is HandedOn.HANDED_ON:
                pass

    # --- the worker ---

    def read(self, count_max: int, *, takes_over: bool) -> list[str]:
        """The entries that a worker is given: those of the dead if it takes them over, then new ones."""
        outbox = self.store.outbox
        old = [name for name, entry in outbox.items() if entry.read][:count_max] if takes_over else []
        new = [name for name, entry in outbox.items() if not entry.read]
        entries = old + new[: count_max - len(old)]
        for name in entries:
            outbox[name].read = True
        return entries

    def persist(self, found: Mapping[str, Entry | Hold]) -> None:
        """One order for each reservation, however often it comes."""
        for name, entry in found.items():
            self.orders.setdefault(name, Order(buyer=entry.buyer, units=entry.units))

    def acknowledge(self, entries: list[str]) -> None:
        for name in entries:
            del self.store.outbox[name]

    # --- the order's life ---

    def end(self, reservation: str, status: OrderStatus, *, tells: bool) -> None:
        self.orders[reservation].status = status
        if tells:
            self.settle([reservation])

    def refund(self, reservation: str, *, units_back: bool) -> OrderStatus:
        """A paid order's money goes back. Returns what becomes of the order."""
        order = self.orders[reservation]
        order.units_back = units_back
        order.settled = order.settled and not units_back
        return OrderStatus.REFUND_DUE

    def settle(self, reservations: list[str] | None = None) -> int:
        """Tell the store how orders ended. Returns how many could be told."""
        if not (self.store_is_up and self.store.item_there and self.store.verified):
            return 0
        told = 0
        for name, order in self.orders.items():
            chosen = reservations is None or name in reservations
            if chosen and not order.settled and order.status != OrderStatus.AWAITING_PAYMENT:
                if order.wanted == "sold":
                    self.store.confirm(name)
                else:
                    self.store.release(name, refunded=order.status in MONEY_BACK)
                    if self.hands_on:
                        self.hand_on()
                order.settled = True
                told += 1
        return told

    def overdue(self, count_max: int) -> list[str]:
        """The unpaid orders whose deadline has passed, the first to pass first."""
        late = [
            (order.turn, name)
            for name, order in self.orders.items()
            if order.turn and order.status == OrderStatus.AWAITING_PAYMENT
        ]
        return [name for _, name in sorted(late)[:count_max]]

    def let_pass(self, reservation: str) -> int:
        self.turns += 1
        self.orders[reservation].turn = self.turns
        return self.turns

    @property
    def taken(self) -> int:
        return sum(order.units for order in self.orders.values() if order.taken)

    # --- changes ---

    def may_change(self, change: Change) -> bool:
        """The rules that PostgreSQL alone can answer; pending changes count as done."""
        expected = replace(self.terms)
        for waiting in self.pending:
            if waiting.kind not in (Kind.ADD_UNITS, Kind.WITHDRAW_UNITS):
                move(expected, waiting)
        quantity = self.terms.quantity
        # Units of a sale that is over are not changed any more.
        goes_on = expected.window != ENDED
        has_units = quantity is not None and goes_on
        return {
            Kind.UNITS_PER_BUYER: goes_on,
            Kind.ADD_UNITS: has_units,
            Kind.WITHDRAW_UNITS: has_units and quantity is not None and change.units < quantity,
            Kind.PAUSE: not expected.sale_paused and goes_on,
            Kind.RESUME: expected.sale_paused,
            Kind.PAUSE_ITEM: not expected.item_paused and goes_on,
            Kind.RESUME_ITEM: expected.item_paused and goes_on,
            Kind.END_NOW: expected.window == OPEN,
        }.get(change.kind, True)

    def note(self, change: Change) -> None:
        self.pending.append(change)
        if change.kind == Kind.ADD_UNITS:
            move(self.terms, change)

    def apply_changes(self, *, dies: str = "") -> None:
        """Apply what is pending, in order; with `dies` the first is interrupted before or after the store."""
        while self.pending and dies != "changes.before_store":
            if not (self.store_is_up and self.store.item_there and self.store.verified):
                return
            change = self.pending[0]
            applied = self.store.adjust(change)
            self.hand_on()
            if dies:
                return
            if applied and change.kind != Kind.ADD_UNITS:
                move(self.terms, change)
            self.pending.pop(0)

    # --- faults and repairs ---

    def restart(self) -> None:
        self.store_is_up = True
        self.store.verified = False

    def back_up(self) -> None:
        self.backup = deepcopy(self.store)

    def put_back(self) -> None:
        """Restore the backup on a newly started server."""
        assert self.backup is not None
        self.store = deepcopy(self.backup)
        self.restart()

    def forgive(self) -> None:
        """Data was lost: reservations that neither PostgreSQL nor the rest of the store has are not promised."""
        known = self.orders.keys() | self.store.outbox.keys() | self.store.holds.keys()
        self.forgiven |= self.told_yes - known

    def finish_interrupted(self) -> None:
        """What the store has applied is applied, and so is an addition whose units are in orders."""
        while self.pending:
            change = self.pending[0]
            known = self.store.item_there and change.number in self.store.applied
            added = sum(waiting.units for waiting in self.pending if waiting.kind == Kind.ADD_UNITS)
            bought = change.kind == Kind.ADD_UNITS and self.taken > (self.terms.quantity or 0) - added
            if not known and not bought:
                return
            if change.kind == Kind.WITHDRAW_UNITS and self.taken > (self.terms.quantity or 0) - change.units:
                return
            if change.kind != Kind.ADD_UNITS:
                move(self.terms, change)
            self.pending.pop(0)

    def reconcile(self, *, dies: bool = False) -> None:
        """Every known reservation becomes an order, and each hold in the store gets the state of its order."""
        self.persist(self.store.outbox)
        self.persist({name: hold for name, hold in self.store.holds.items() if hold.state != "ended"})
        self.finish_interrupted()
        terms = deepcopy(self.terms)
        for change in self.pending:
            if change.kind == Kind.ADD_UNITS:
                move(terms, Change(Kind.WITHDRAW_UNITS, change.units))
        holds = {name: Hold(order.wanted, order.buyer, order.units) for name, order in self.orders.items()}
        line, is_open = self.store.line, self.terms.has_line
        self.store = StoreModel(terms=terms, verified=not dies, holds=holds, line=line, line_open=is_open)
        if not dies:
            self.apply_changes()
