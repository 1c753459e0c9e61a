"""One sale item with its reservations and orders, on a store that a test may kill, empty or restore from a backup."""

import itertools
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from orders.life import intake, lifecycle
from orders.models import Order
from orders.repair.audit import audit
from seckill import ledger
from seckill.items import item_state
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from tests.own_store import OwnStore
from tests.steps.staff import change
from tests.steps.store import StoredItem


class ItemJourney(StoredItem):
    """Steps in the life of a reservation, each made with the shop's own functions."""

    def __init__(self, own_store: OwnStore, item: SaleItem) -> None:
        super().__init__(own_store.client, item.pk)
        self.own_store = own_store
        self.item_id = item.pk
        self._numbers = itertools.count(1)

    def new_buyer(self) -> User:
        return User.objects.create(username=f"buyer-{self.item_id}-{next(self._numbers)}")

    def try_to_reserve(
        self, *, reservation_id: UUID | None = None, buyer_id: int | None = None, units: int = 1
    ) -> Outcome:
        return ledger.reserve(
            item_id=self.item_id,
            reservation_id=reservation_id or passes.new_reservation_id(self.item_id),
            buyer_id=buyer_id or self.new_buyer().pk,
            units=units,
        ).outcome

    def reserved(self, *, units: int = 1) -> UUID:
        """A reservation that is not an order yet."""
        reservation_id = passes.new_reservation_id(self.item_id)
        assert self.try_to_reserve(reservation_id=reservation_id, units=units) == Outcome.RESERVED
        return reservation_id

    def ordered(self, *, units: int = 1) -> UUID:
        reservation_id = self.reserved(units=units)
        intake.drain_once(item_id=self.item_id)
        return reservation_id

    def surplus(self, *, units: int) -> UUID:
        """An order whose reservation the store has lost."""
        reservation_id = passes.new_reservation_id(self.item_id)
        now = timezone.now()
        server, ends = item_state.incarnation(item_id=self.item_id), now + timedelta(minutes=5)
        lost = intake.NewOrder(None, server, reservation_id, self.new_buyer().pk, units, now, ends)
        intake.persist(item_id=self.item_id, new_orders=[lost])
        return reservation_id

    def paid(self, *, units: int = 1) -> UUID:
        reservation_id = self.ordered(units=units)
        assert lifecycle.pay(order_id=self.order(reservation_id).pk)
        return reservation_id

    def expired(self, *, units: int = 1) -> UUID:
        reservation_id = self.ordered(units=units)
        self.let_time_pass(reservation_id)
        assert lifecycle.expire_overdue() == 1
        return reservation_id

    def cancelled(self, *, units: int = 1) -> UUID:
        reservation_id = self.ordered(units=units)
        assert lifecycle.cancel(order_id=self.order(reservation_id).pk)
        return reservation_id

    def change(self, kind: SaleChange.Kind, units: int | None = None) -> None:
        """Staff change the item, or its sale."""
        change(SaleItem.objects.get(pk=self.item_id), kind, units=units)

    def let_time_pass(self, reservation_id: UUID) -> None:
        Order.objects.filter(reservation_id=reservation_id).update(expires_at=Now() - timedelta(seconds=1))

    def order(self, reservation_id: UUID) -> Order:
        return Order.objects.get(reservation_id=reservation_id)

    def restart(self) -> None:
        """kill -9, then start the server again on the same files."""
        self.own_store.kill()
        self.own_store.start()

    def states(self) -> dict[str, str]:
        """reservation id -> held, sold or ended"""
        return {name: hold.split(":")[0] for name, hold in self.holds().items()}

    def is_clean(self) -> bool:
        """Whether an audit finds no problem; a failing test prints what it found."""
        found = audit(item_id=self.item_id, patience_seconds=3)
        print(found)
        return found.comparison.problem_count == 0
