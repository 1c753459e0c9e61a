"""One client process: sends its calls over a limited number of connections and notes the answers.

No Django in here: the process starts from nothing (spawn) and shares the processors with the shop that it calls.
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

# The shop gives up on a store within 2 s; a call that takes this long was lost on the way.
CALL_SECONDS_MAX = 10.0
# A good client repeats a call that got no answer, or a 503, with the same pass, but not for ever.
TRIES_MAX = 4
# Doubled with each try.
RETRY_SECONDS = 0.2
# Other client processes may need this long to start.
BARRIER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one process has to do. `seconds_max` counts from the barrier."""

    url: str
    chains: Sequence[Sequence[Call]]
    connections: int
    seconds_max: float


def run(assignment: Assignment, barrier: Barrier, progress: "Synchronized[int]", results: Connection) -> None:
    """Body of the process: wait at the barrier, call, send the answers as one list."""
    # Ctrl-C reaches the whole group of processes; the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    results.send(asyncio.run(call_all(assignment, barrier, progress)))
    results.close()


async def call_all(assignment: Assignment, barrier: Barrier, progress: "Synchronized[int]") -> list[Answer]:
    """Send every chain; each connection takes the next chain as soon as it is free."""
    waiting = deque(assignment.chains)
    answers: list[Answer] = []
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=assignment.connections, keepalive_timeout=30),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=CALL_SECONDS_MAX),
        skip_auto_headers=("User-Agent", "Accept-Encoding"),
        headers={"Content-Type": "application/json", "Accept": "application/json"},
    ) as session:
        barrier.wait(BARRIER_SECONDS)
        deadline_s = time.monotonic() + assignment.seconds_max

        async def connection() -> None:
            while waiting:
                for call in waiting.popleft():
                    answers.append(await send(session, assignment.url, call, deadline_s))
                    # Only this process writes it, so it needs no lock.
                    progress.value = len(answers)

        await asyncio.gather(*(connection() for _ in range(assignment.connections)))
    return answers


async def send(session: aiohttp.ClientSession, url: str, call: Call, deadline_s: float) -> Answer:
    """One call, repeated with the same pass while it is unknown whether it took effect."""
    sent_s = time.monotonic()
    if sent_s >= deadline_s:
        return Answer(index=call.index, outcome=NOT_SENT)
    status, reply = await post(session, url, call)
    first_try_seconds = time.monotonic() - sent_s
    tries = 1
    while status in (0, 503) and tries < TRIES_MAX:
        retry_seconds = RETRY_SECONDS * 2**tries
        if time.monotonic() + retry_seconds >= deadline_s:
            break
        await asyncio.sleep(retry_seconds)
        status, reply = await post(session, url, call)
        tries += 1
    answer = Answer(
        index=call.index,
        outcome=outcome_of(status, reply),
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
    """The status and body of one request; status 0 for a network error or a timeout."""
    body = b'{"units": %d}' % call.units
    try:
        # A redirect could lead away from this machine, so none is followed.
        async with session.post(
            url, data=body, headers={"Authorization": f"Pass {call.pass_text}"}, allow_redirects=False
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


def outcome_of(status: int, reply: dict[str, Any]) -> str:
    if status == 0:
        return NO_ANSWER
    return str(reply.get("code", f"http_{status}"))
