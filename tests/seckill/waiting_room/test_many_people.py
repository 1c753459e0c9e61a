"""Twenty thousand people in one room, on the real store: every promise, counted; and a store that is killed."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.tasks import move_waiting_rooms
from seckill import ledger
from seckill.ledger_words import Confirmed
from seckill.models import Sale, SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store.client import StoreUnreachable
from seckill.store.keys import room_keys_of
from seckill.waiting_room.presence import presence
from seckill.waiting_room.room_ledger import Arrived, Room, arrive, read_room
from seckill.waiting_room.standing import NotLetIn, why_not_let_in
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until
from tests.seckill.store.items import reconciled
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold
from tests.steps.waiting_room import age_steps, open_now, room_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PEOPLE, UNITS = 20_000, 300
THREADS = 8


class Crowd:
    """The accounts 1 to `people` in the room of an item. Seven of ten are there, and half of those want a unit."""

    def __init__(self, item: SaleItem, people: int) -> None:
        self.item = item
        self.accounts = range(1, people + 1)
        self.chance = random.Random(people)
        self.arrivals: dict[int, int] = {}
        self.let_in: list[int] = []
        self.told_yes: list[Any] = []

    def arrive(self, accounts: Any) -> None:
        def one(account: int) -> tuple[int, int]:
            return account, arrive(sale_id=self.item.sale_id, account_id=account).number

        with ThreadPoolExecutor(THREADS) as threads:
            self.arrivals |= dict(threads.map(one, accounts))

    def room(self) -> Room:
        return room_of(self.item)

    def settle(self) -> None:
        """From the opening on: who is there, and in which order."""
        self.room_at_opening = self.room()
        self.places = {account: self.room_at_opening.place(arrival) for account, arrival in self.arrivals.items()}
        self.in_line = sorted(self.arrivals, key=lambda account: self.places[account] or 0)
        self.there = {account for account in self.accounts if self.chance.random() < 0.7}
        self.note_presence()

    def note_presence(self) -> None:
        now_ms = self.room().now_ms
        for account in self.there:
            presence.note(sale_id=self.item.sale_id, arrival=self.arrivals[account], now_ms=now_ms)
        presence.write()

    def come(self, first: int, last: int) -> None:
        """The people whose places were called come, each twice, and half of them reserve."""
        for account in self.in_line[first:last]:
            if account not in self.there:
                continue
            assert [why_not_let_in(sale_id=self.item.sale_id, account_id=account) for _ in range(2)] == [None, None]
            self.let_in.append(account)
            if self.chance.random() < 0.5:
                self.reserve(account)

    def reserve(self, account: int) -> None:
        reservation_id = passes.new_reservation_id(self.item.pk)
        answer = ledger.reserve(item_id=self.item.pk, reservation_id=reservation_id, buyer_id=account, units=1)
        # There is a unit for everybody who is called.
        assert answer.outcome == Outcome.RESERVED
        self.told_yes.append(reservation_id)


def pass_time(item: SaleItem, store: Any) -> None:
    """People who were called stay away, and the pace permits two seconds' worth of people."""
    store.hset(room_keys_of(item.sale_id).room, "next_ms", 0)
    age_steps(item)


def test_twenty_thousand_people_are_let_in_by_their_places_and_nothing_is_oversold(
    product: Product, store: Any
) -> None:
    item = make_item(product, quantity=UNITS, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    before_bytes = store.info("memory")["used_memory"]
    crowd = Crowd(item, PEOPLE)
    crowd.arrive(crowd.accounts[: PEOPLE * 9 // 10])
    early = len(crowd.arrivals)
    move_waiting_rooms()
    open_now(item)
    crowd.arrive(crowd.accounts[early:])
    bytes_per_person = (store.info("memory")["used_memory"] - before_bytes) / PEOPLE
    print(f"{bytes_per_person:.0f} bytes of the store for each person")
    assert bytes_per_person < 100

    crowd.settle()
    assert sorted(crowd.arrivals.values()) == list(range(PEOPLE))
    assert [crowd.places[account] for account in crowd.in_line] == list(range(PEOPLE))
    assert crowd.room_at_opening.early == early
    assert all(crowd.places[account] == crowd.arrivals[account] for account in crowd.accounts[early:])

    Sale.objects.update(pace=12_000)
    called, moves = 0, 0
    while len(crowd.told_yes) < UNITS:
        pass_time(item, store)
        move_waiting_rooms()
        now_called = crowd.room().called
        assert now_called > called, "units are left and nobody is inside"
        crowd.come(called, now_called)
        called, moves = now_called, moves + 1
        assert moves < 100
    let_in = [account for account in crowd.in_line[:called] if account in crowd.there]
    assert crowd.let_in == let_in
    assert crowd.room().entered == len(let_in)
    assert {account for account, entry in entries(item, store).items() if entry.endswith("*")} == set(let_in)

    # All units are held: the line stands, and nobody behind it is let in.
    pass_time(item, store)
    move_waiting_rooms()
    assert crowd.room().called == called
    waiting = crowd.in_line[called]
    assert why_not_let_in(sale_id=item.sale_id, account_id=waiting) is NotLetIn.PLACE_NOT_CALLED
    assert left_held_sold(item) == (0, UNITS, 0)
    assert set(ledger.confirm(item_id=item.pk, reservation_ids=crowd.told_yes)) == {Confirmed.CONFIRMED}
    move_waiting_rooms()
    assert crowd.room().state == "sold_out"


def entries(item: SaleItem, store: Any) -> dict[int, str]:
    found = store.hgetall(room_keys_of(item.sale_id).arrivals)
    return {int(account): entry.decode() for account, entry in found.items()}


@pytest.fixture
def durable_store(server_directory: Path) -> Iterator[OwnStore]:
    """A store that syncs before it answers, as the shop's does."""
    with running(server_directory) as own_store, as_reservation_store(own_store):
        yield own_store


def test_a_store_that_is_killed_while_the_line_moves_loses_no_place(durable_store: OwnStore, product: Product) -> None:
    item = make_item(product, quantity=1_000, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    crowd = Crowd(item, 300)
    User.objects.bulk_create(User(pk=account, username=f"buyer-{account}") for account in crowd.accounts)
    crowd.arrive(crowd.accounts)
    open_now(item)
    Sale.objects.update(pace=1_200)
    crowd.settle()
    called = [0]

    def has_moved() -> bool:
        move_waiting_rooms()
        return crowd.room().called > called[-1]

    for round_number in range(4):
        # By the pace, the next person's turn comes every 50 ms.
        wait_until(has_moved, seconds_max=30)
        crowd.come(called[-1], crowd.room().called)
        called.append(crowd.room().called)
        if round_number == 1:
            durable_store.kill()
            with pytest.raises(StoreUnreachable):
                read_room(sale_id=item.sale_id)
            move_waiting_rooms()
            durable_store.start()
            # Until the item was compared with its orders, nobody is called.
            move_waiting_rooms()
            assert (crowd.room().called, crowd.room().state) == (called[-1], "paused")
            assert reconciled(item)
    assert all(earlier < later for earlier, later in pairwise(called)), (called, crowd.room())
    assert crowd.let_in == [account for account in crowd.in_line[: called[-1]] if account in crowd.there]
    again = {account: arrive(sale_id=item.sale_id, account_id=account) for account in crowd.accounts}
    assert {account: found.number for account, found in again.items()} == crowd.arrivals
    assert {found.word for found in again.values()} == {Arrived.ALREADY_ARRIVED}
