"""One process of the herd: sends its calls over a bounded number of connections and notes the answers.

No Django in here: the process is started fresh (spawn), and has to share the processors with the shop that it calls.
"""

import asyncio
import gc
import json
import signal
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from typing import Any

import aiohttp

from bench.stampede.plan import NO_ANSWER, NOT_SENT, Answer, Call

# The shop gives up on a store within 2 s; whoever waited this long was dropped on the way.
CALL_SECONDS_MAX = 10.0
# A good client repeats a call that got no answer, or a 503, with the same pass; but not for ever.
TRIES_MAX = 4
# Doubled with each try.
REST_SECONDS = 0.2
# Other processes of the herd may need this long to start.
BARRIER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Orders:
    """What one process is told to do. `seconds_max` counts from the barrier."""

    url: str
    chains: Sequence[Sequence[Call]]
    connections: int
    seconds_max: float


def run(orders: Orders, barrier: Barrier, progress: "Synchronized[int]", results: Connection) -> None:
    """Body of the process: wait at the barrier, call, send the answers as one list."""
    # Ctrl-C reaches the whole group of processes; the parent is the one that acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    results.send(asyncio.run(call_all(orders, barrier, progress)))
    results.close()


async def call_all(orders: Orders, barrier: Barrier, progress: "Synchronized[int]") -> list[Answer]:
    """Send every chain; each connection takes the next one as soon as it is free."""
    waiting = deque(orders.chains)
    answers: list[Answer] = []
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=orders.connections, keepalive_timeout=30),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=CALL_SECONDS_MAX),
        skip_auto_headers=("User-Agent", "Accept-Encoding"),
        headers={"Content-Type": "application/json", "Accept": "application/json"},
    ) as session:
        barrier.wait(BARRIER_SECONDS)
        deadline_s = time.monotonic() + orders.seconds_max

        async def connection() -> None:
            while waiting:
                for call in waiting.popleft():
                    answers.append(await make(session, orders.url, call, deadline_s))
                    # Only this process writes it, so the lock would protect nothing.
                    progress.value = len(answers)

        await asyncio.gather(*(connection() for _ in range(orders.connections)))
    return answers


async def make(session: aiohttp.ClientSession, url: str, call: Call, deadline_s: float) -> Answer:
    """One call, repeated with the same pass while nobody can tell whether it took effect."""
    sent_s = time.monotonic()
    if sent_s >= deadline_s:
        return Answer(index=call.index, word=NOT_SENT)
    status, reply = await post(session, url, call)
    first_try_seconds = time.monotonic() - sent_s
    tries = 1
    while status in (0, 503) and tries < TRIES_MAX:
        rest_seconds = REST_SECONDS * 2**tries
        if time.monotonic() + rest_seconds >= deadline_s:
            break
        await asyncio.sleep(rest_seconds)
        status, reply = await post(session, url, call)
        tries += 1
    answer = Answer(
        index=call.index,
        word=word_of(status, reply),
        tries=tries,
        answered_s=time.monotonic(),
        first_try_seconds=first_try_seconds,
    )
    if status != 201:
        return answer
    return replace(
        answer,
        reservation_id=str(reply.get("id")),
        units=int(reply.get("units", 0)),
        expires_at=str(reply.get("expires_at")),
    )


async def post(session: aiohttp.ClientSession, url: str, call: Call) -> tuple[int, dict[str, Any]]:
    """The status and body of one request; status 0 where the network or the clock cut it off."""
    body = b'{"units": %d}' % call.units
    try:
        # A redirect could lead away from this machine, so none is followed.
        async with session.post(
            url, data=body, headers={"Authorization": f"Pass {call.text}"}, allow_redirects=False
        ) as response:
            text = await response.read()
            replayed = "Idempotent-Replayed" in response.headers
            status = response.status
    except (aiohttp.ClientError, TimeoutError, OSError):
        return 0, {}
    try:
        reply = json.loads(text)
    except ValueError:
        return status, {}
    if not isinstance(reply, dict):
        return status, {}
    if status == 201:
        reply["code"] = "already_reserved" if replayed else "reserved"
    return status, reply


def word_of(status: int, reply: dict[str, Any]) -> str:
    if status == 0:
        return NO_ANSWER
    return str(reply.get("code", f"http_{status}"))
