"""The waiting room of sale 42 in a store of its own.

The tests of its scripts are functions of a CheckedItem, so that scripts/test_mutants.py can run them too.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from seckill.store import scripts
from seckill.store.keys import room_keys_of
from seckill.store.scripts import Script
from seckill.waiting_room import room_ledger
from seckill.waiting_room.room_ledger import Admitted, Arrival, Entered, RoomState, Terms
from tests.seckill.checked_item import CheckedItem
from tests.steps.store import texts

SALE_ID = 42
KEY = bytes(range(32))
Answer = TypeVar("Answer")


class CheckedRoom:
    """`fields` are written over those of a new room."""

    def __init__(self, item: CheckedItem, **fields: str | int | None) -> None:
        self.client = item.client
        self.dump = item.dump
        self.just_before = item.just_before
        self.nothing_changes = item.nothing_changes
        self.now_ms = item.now_ms
        self.keys = room_keys_of(SALE_ID)
        room_ledger.open_room(sale_id=SALE_ID, terms=Terms(opens_ms=self.now_ms() - 60_000, key=KEY))
        for name, value in fields.items():
            if value is None:
                self.client.hdel(self.keys.room, name)
            else:
                self.client.hset(self.keys.room, name, str(value))

    def room(self) -> dict[str, str]:
        return texts(self.client.hgetall(self.keys.room))

    def count(self, *names: str) -> tuple[int, ...]:
        room = self.room()
        return tuple(int(room[name]) for name in names)

    def arrivals(self) -> dict[str, str]:
        return texts(self.client.hgetall(self.keys.arrivals))

    def steps(self) -> list[list[int]]:
        """The steps without their times."""
        entries = [entry.decode().split(":") for entry in self.client.lrange(self.keys.steps, 0, -1)]
        return [[int(number) for number in entry[1:]] for entry in entries]

    def has_arrived(self, account: int, entry: str) -> None:
        self.client.hset(self.keys.arrivals, str(account), entry)

    def has_step(self, at_ms: int, counts: str) -> None:
        self.client.lpush(self.keys.steps, f"{at_ms}:{counts}")

    def arrive(self, account: int = 7, **more: int) -> Arrival:
        return room_ledger.arrive(sale_id=SALE_ID, account_id=account, **more)

    def enter(self, account: int = 7, *, arrival: int = 5, place: int = 3) -> Entered:
        return room_ledger.enter(sale_id=SALE_ID, account_id=account, arrival=arrival, place=place)

    def admit(
        self,
        present: str,
        *,
        called_before: int = 0,
        pace: int = 60,
        state: RoomState = RoomState.OPEN,
        left: int | None = 100,
        reservations: int = 0,
    ) -> tuple[Admitted, int]:
        """`present` has a 1 for each place whose person is there, and a 0 for the others."""
        return room_ledger.admit(
            sale_id=SALE_ID,
            called_before=called_before,
            looked_at=len(present),
            present=[number for number, there in enumerate(present, start=1) if there == "1"],
            pace=pace,
            state=state,
            left=left,
            reservations=reservations,
        )

    def at(self, verb: str, *, step: tuple[int, str] | None = None, **offsets: int) -> AbstractContextManager[None]:
        """These fields are so many milliseconds after the time at which the script runs, and so is the oldest step."""
        lua = [f"redis.call('HSET', KEYS[1], '{name}', in_ms({offset}))" for name, offset in offsets.items()]
        if step:
            lua.append(f"redis.call('LSET', KEYS[2], -1, in_ms({step[0]}) .. ':{step[1]}')")
        return self.just_before(verb, "\n".join(lua))

    def refused(self, call: Callable[[], Answer]) -> Answer:
        """The answer to a call that changes nothing."""
        with self.nothing_changes():
            return call()

    def raw(self, verb: str, keys: list[str], args: list[Any]) -> list[str]:
        script: Script = getattr(scripts, verb.upper())
        return script.run(self.client, keys=keys, args=args)
