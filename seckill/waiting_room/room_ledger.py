"""The scripts of waiting rooms as Python functions: arrive, admit, enter. Also opens and reads rooms.

A room is one hash in the reservation store, and a hash of its arrivals: both have one slot of their own in a Cluster.
Every function makes one round trip; a store that does not answer raises StoreUnreachable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, cast

from redis import Redis

from seckill.ledger import ask_for_yes
from seckill.store import scripts
from seckill.store.client import answers_of, ask
from seckill.store.keys import room_id, room_keys_of
from seckill.waiting_room.permutation import place_of

T = TypeVar("T")

# How long somebody whose place was called has to come. It counts from the call, also for people who are there.
GRACE_MS = 120_000
# How long a unit is counted for each of them. With one unit left, a person who cannot decide must not stop the line
# for two minutes; the page asks every two seconds, and reserving takes some. A later person may still find a unit.
DECIDE_MS = 30_000
# Longer than any room lasts, and small enough to be added to a time without rounding.
NEVER_MS = 10**15


class Arrived(StrEnum):
    UNAVAILABLE = "unavailable"
    ALREADY_ARRIVED = "already_arrived"
    ARRIVED = "arrived"


class Admitted(StrEnum):
    UNAVAILABLE = "unavailable"
    NOT_OPEN = "not_open"
    CALLED_BEFORE = "called_before"
    ADMITTED = "admitted"


class Entered(StrEnum):
    UNAVAILABLE = "unavailable"
    ALREADY_ENTERED = "already_entered"
    NO_PLACE = "no_place"
    NOT_CALLED = "not_called"
    LAPSED = "lapsed"
    ENTERED = "entered"


class RoomState(StrEnum):
    """What the last look at the sale found. People are called while it is `open`; the last two are for good."""

    OPEN = "open"
    PAUSED = "paused"
    SOLD_OUT = "sold_out"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Room:
    """A waiting room at `now_ms` of the store's clock. Places and arrivals count from 0.

    `early` is how many came before the opening; None until then. `called` places were called, to `admitted` people who
    were there; the first `lapsed` of them have lapsed, except for people who have entered. `inside` are people whom a
    unit is counted for: called lately, and not known to have reserved. `left` None: unlimited. `pace`: people a minute.
    """

    now_ms: int
    opens_ms: int
    key: bytes
    arrivals: int
    early: int | None
    called: int
    admitted: int
    entered: int
    lapsed: int
    pace: int
    state: RoomState
    left: int | None
    inside: int

    @property
    def waiting(self) -> int:
        return max(self.arrivals - self.called, 0)

    def place(self, arrival: int) -> int | None:
        """None before the opening."""
        return None if self.early is None else place_of(arrival, self.early, self.key)


@dataclass(frozen=True, slots=True)
class Terms:
    """The fields of a new room. The counts are 0, unless it is one that was lost: PostgreSQL remembers them.

    `reservations` are those made so far in the sale.
    """

    opens_ms: int
    key: bytes
    arrivals: int = 0
    early: int | None = None
    called: int = 0
    reservations: int = 0


@dataclass(frozen=True, slots=True)
class Arrival:
    word: Arrived
    number: int = 0
    entered: bool = False


def ask_room(step: Callable[[Redis], T], *, sale_id: int) -> T:
    return ask(step, item_id=room_id(sale_id))


def open_room(*, sale_id: int, terms: Terms) -> None:
    """Make the room. What is there already stays: a second call changes nothing."""
    fields: dict[str, str | int] = {
        "opens_ms": terms.opens_ms,
        "key": terms.key.hex(),
        "arrivals": terms.arrivals,
        "called": terms.called,
        "admitted": terms.called,
        "entered": 0,
        "next_ms": terms.opens_ms,
        "lapsed": 0,
        "lapsed_admitted": terms.called,
        "lapsed_reservations": terms.reservations,
    }
    if terms.early is not None:
        fields["early"] = terms.early

    def write(client: Redis) -> None:
        pipeline = client.pipeline(transaction=True)
        for name, value in fields.items():
            pipeline.hsetnx(room_keys_of(sale_id).room, name, str(value))
        answers_of(pipeline)

    ask_room(write, sale_id=sale_id)


def arrive(*, sale_id: int, account_id: int, claimed: int | None = None, given_up: int | None = None) -> Arrival:
    """The account's arrival number, the same each time. Told when replicas have it (SECKILL_YES_REPLICAS).

    `claimed` is that of its token, if the store has none; `given_up` one that has lapsed and is to be replaced.
    """
    keys = room_keys_of(sale_id)
    args: list[scripts.Argument] = [account_id, *("" if number is None else number for number in (claimed, given_up))]
    word, _now_ms, number = ask_for_yes(
        scripts.ARRIVE,
        item_id=room_id(sale_id),
        keys=(keys.room, keys.arrivals),
        args=args,
        new=Arrived.ARRIVED,
        repeated=Arrived.ALREADY_ARRIVED,
    )
    return Arrival(Arrived(word), *known_arrival(number)) if number else Arrival(Arrived(word))


def known_arrival(text: str) -> tuple[int, bool]:
    """An account's entry: its arrival number, and whether it has entered."""
    return int(text.removesuffix("*")), text.endswith("*")


def admit(
    *,
    sale_id: int,
    called_before: int,
    looked_at: int,
    present: list[int],
    pace: int,
    state: RoomState,
    left: int | None,
    reservations: int,
    all_known: bool = True,
) -> tuple[Admitted, int]:
    """Call the next places: the word, and how many are called now. `present` as in admit.lua.

    `all_known` is False while the reservations of an item are missing. Until they are known, the time to come and to
    decide ends for nobody: people who have reserved would count as late, and others be called for their units.
    """
    keys = room_keys_of(sale_id)
    args: list[scripts.Argument] = [
        called_before,
        looked_at,
        "".join(f"{places:06}" for places in present),
        pace,
        state.value,
        "" if left is None else left,
        reservations,
        *((GRACE_MS, DECIDE_MS) if all_known else (NEVER_MS, NEVER_MS)),
    ]
    answer = ask_room(
        lambda client: scripts.ADMIT.run(client, keys=[keys.room, keys.steps], args=args), sale_id=sale_id
    )
    return Admitted(answer[0]), int(answer[2] or 0)


def enter(*, sale_id: int, account_id: int, arrival: int, place: int) -> Entered:
    """Let the account in, if its place was called. Each account is counted once."""
    keys = room_keys_of(sale_id)
    args: list[scripts.Argument] = [account_id, arrival, place]
    answer = ask_room(
        lambda client: scripts.ENTER.run(client, keys=[keys.room, keys.arrivals], args=args), sale_id=sale_id
    )
    return Entered(answer[0])


def read_room(*, sale_id: int) -> Room | None:
    """None if the store does not have the room, or a part of it is damaged."""

    def read(client: Redis) -> Room | None:
        pipeline = client.pipeline(transaction=False)
        pipeline.time()
        pipeline.hgetall(room_keys_of(sale_id).room)
        return room_from(*answers_of(pipeline))

    return ask_room(read, sale_id=sale_id)


def find_arrival(*, sale_id: int, account_id: int) -> tuple[Room | None, Arrival | None]:
    """The room, and the arrival of the account in it; None if it has none."""
    keys = room_keys_of(sale_id)

    def read(client: Redis) -> tuple[Room | None, Any]:
        pipeline = client.pipeline(transaction=False)
        pipeline.time()
        pipeline.hgetall(keys.room)
        pipeline.hget(keys.arrivals, str(account_id))
        time, fields, entry = answers_of(pipeline)
        return room_from(time, fields), entry

    room, entry = ask_room(read, sale_id=sale_id)
    return room, Arrival(Arrived.ALREADY_ARRIVED, *known_arrival(entry.decode())) if entry else None


def arrivals_of(*, sale_id: int, account_ids: Sequence[int]) -> list[int | None]:
    """The arrival number of each account; None if it has none."""
    names = [str(account_id) for account_id in account_ids]
    found = ask_room(lambda client: client.hmget(room_keys_of(sale_id).arrivals, names), sale_id=sale_id)
    return [None if entry is None else known_arrival(entry.decode())[0] for entry in cast(list[Any], found)]


def room_from(time: tuple[int, int], fields: Any) -> Room | None:
    """The hash of a room as it is read, at this answer to TIME."""
    now_ms = time[0] * 1000 + time[1] // 1000
    try:
        opens_ms, arrivals = int(fields[b"opens_ms"]), int(fields[b"arrivals"])
        # The first call after the opening fixes it, and nobody has come in between.
        early = int(fields[b"early"]) if b"early" in fields else arrivals if now_ms >= opens_ms else None
        return Room(
            now_ms=now_ms,
            opens_ms=opens_ms,
            key=bytes.fromhex(fields[b"key"].decode()),
            arrivals=arrivals,
            early=early,
            called=int(fields[b"called"]),
            admitted=int(fields[b"admitted"]),
            entered=int(fields[b"entered"]),
            lapsed=int(fields[b"lapsed"]),
            pace=int(fields.get(b"pace", 0)),
            state=RoomState(fields.get(b"state", b"open").decode()),
            left=int(fields[b"left"]) if fields.get(b"left") else None,
            inside=int(fields.get(b"inside", 0)),
        )
    except (KeyError, ValueError, TypeError):
        return None


def remove_room(*, sale_id: int) -> None:
    """Delete the room from the store, in one command, when its sale is over for good."""
    keys = room_keys_of(sale_id)
    ask_room(lambda client: client.unlink(keys.room, keys.arrivals, keys.steps), sale_id=sale_id)
