"""Who is still there: the arrivals of a waiting room that have lately asked for their place, in all web processes.

Most of these calls are answered from memory, so each process notes the arrivals. Once a second a thread adds them to
those of all processes in the cache server, as bits: two kilobytes for twenty thousand people. Each note is for a period
of the store's clock, so web servers whose clocks are wrong note the same. While the cache server is away the notes of
this time are lost; where there are none at all, everybody counts as there.
"""

import secrets
import threading
from collections.abc import Callable

from django_redis import get_redis_connection

from shop.background.lazy_thread import LazyThread
from shop.background.outages import AWAY, go_on, wait

WORK = "room_presence"
PERIOD_MS = 30_000
# Somebody who has not asked in this many periods and the present one is gone: two and a half minutes. Browsers let a
# page in the background run once a minute.
PERIODS = 5
KEPT_SECONDS = 600
WRITE_SECONDS = 1.0
# A process that has more rooms than this to note forgets the others until it has written.
ROOMS_MAX = 100
# Arrival numbers come from signed tokens; beyond this, people count as there only through the others.
ARRIVALS_MAX = 10_000_000


class Presence:
    """The notes of one process, and the thread that writes them."""

    def __init__(self) -> None:
        # By sale and period.
        self._arrivals: dict[tuple[int, int], set[int]] = {}
        self._writer = LazyThread(self._write_and_pause, name="room-presence")

    def note(self, *, sale_id: int, arrival: int, now_ms: int) -> None:
        """The arrival has asked at this time of the store's clock. Returns at once and never raises.

        It takes no lock: a note at the very moment of writing may be lost, and its page asks again in ten seconds.
        """
        key = sale_id, now_ms // PERIOD_MS
        arrivals = self._arrivals.get(key)
        if arrivals is None:
            if len(self._arrivals) >= ROOMS_MAX:
                return
            arrivals = self._arrivals.setdefault(key, set())
        if arrival < ARRIVALS_MAX:
            arrivals.add(arrival)
        self._writer.wake()

    def write(self) -> None:
        """Add the notes since the last time to those of all processes."""
        notes, self._arrivals = self._arrivals, {}
        if not notes:
            return
        pipeline = get_redis_connection("default").pipeline(transaction=False)
        # A copy: a call may be adding a room to it.
        for (sale_id, period), arrivals in list(notes.items()):
            shared, mine = key_of(sale_id, period), f"{key_of(sale_id, period)}.{secrets.token_hex(8)}"
            pipeline.set(mine, bits_of(arrivals), ex=KEPT_SECONDS)
            pipeline.bitop("OR", shared, shared, mine)
            pipeline.expire(shared, KEPT_SECONDS)
            pipeline.delete(mine)
        try:
            pipeline.execute()
        except AWAY as error:
            wait(WORK, error)
        else:
            go_on(WORK)

    def _write_and_pause(self) -> None:
        self.write()
        threading.Event().wait(WRITE_SECONDS)


def bits_of(arrivals: set[int]) -> bytes:
    """One for each number, as BITOP and GETBIT count them. The set may still grow, so it is copied at once."""
    noted = sorted(arrivals)
    bits = bytearray(noted[-1] // 8 + 1 if noted else 0)
    for arrival in noted:
        bits[arrival >> 3] |= 128 >> (arrival & 7)
    return bytes(bits)


def read_present(*, sale_id: int, now_ms: int) -> Callable[[int], bool]:
    """Whether an arrival is there at this time of the store's clock. Everybody is where no process has noted anything.

    One round trip, of some kilobytes for each period.
    """
    period = now_ms // PERIOD_MS
    try:
        found = get_redis_connection("default").mget([key_of(sale_id, period - back) for back in range(PERIODS + 1)])
    except AWAY as error:
        wait(WORK, error)
        return lambda arrival: True
    go_on(WORK)
    parts = [bits for bits in found if bits]
    if not parts:
        return lambda arrival: True
    return lambda arrival: any(arrival >> 3 < len(bits) and bits[arrival >> 3] & 128 >> (arrival & 7) for bits in parts)


def key_of(sale_id: int, period: int) -> str:
    return f"seckill.room.{sale_id}.{period}"


presence = Presence()
