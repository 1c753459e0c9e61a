"""One client process: sends its calls over a limited number of connections and notes the answers.

A buyer who waits holds no connection, so calls for items on other servers of the store go on meanwhile. No Django in
here: the process starts from nothing (spawn) and shares the processors with the shop that it calls.
"""

import asyncio
import gc
import heapq
import json
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from typing import Any

import aiohttp

from bench.http_requests import CALL_SECONDS_MAX
from bench.stampede.plan import NO_ANSWER, NOT_SENT, UNAVAILABLE, Answer, Call

# A good client repeats a call with the same pass while it may or may not have taken effect: when and for as long as the
# shop says (Retry-After of `unavailable`), and so often where it says nothing.
TRIES_MAX = 4
# Doubled with each try.
RETRY_SECONDS = 0.2
# Other client processes may need this long to start.
BARRIER_SECONDS = 60.0


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A call that is to be sent at `due_s` (monotonic clock), and what follows it in its chain.

    `tries` counts the requests that were sent for it, `unasked_tries` those that it was not asked to send;
    `unavailable_s` and `first_try_seconds` are those of its answer (bench/stampede/plan.py).
    """

    due_s: float
    index: int
    chain: Sequence[Call] = field(compare=False)
    tries: int = field(default=0, compare=False)
    unasked_tries: int = field(default=0, compare=False)
    first_try_seconds: float = field(default=0.0, compare=False)
    unavailable_s: tuple[float, ...] = field(default=(), compare=False)

    @property
    def call(self) -> Call:
        return self.chain[0]


class WaitingCalls:
    """Shared by all connections of a process."""

    def __init__(self, chains: Sequence[Sequence[Call]]) -> None:
        self._new = deque(_turn(chain) for chain in chains if chain)
        self._again: list[Turn] = []
        # So that many who repeat their calls do not keep all others from their first one.
        self._new_is_next = True

    async def take(self) -> Turn | None:
        """The next call to send, as soon as there is one; None if all have been sent and none is to be repeated.

        A connection that gets None can end: the one that is sending a call comes back for those that follow.
        """
        while self._new or self._again:
            due = bool(self._again) and self._again[0].due_s <= time.monotonic()
            if self._new and (self._new_is_next or not due):
                self._new_is_next = False
                return self._new.popleft()
            self._new_is_next = True
            if due:
                return heapq.heappop(self._again)
            await asyncio.sleep(max(0.0, self._again[0].due_s - time.monotonic()))
        return None

    def put_back(self, turn: Turn) -> None:
        """The call is to be repeated at its new time."""
        heapq.heappush(self._again, turn)

    def answered(self, turn: Turn) -> None:
        """The next call of the chain may be sent, and is before others: its buyer has only waited for this answer."""
        if turn.chain[1:]:
            self._new.appendleft(_turn(turn.chain[1:]))


def _turn(chain: Sequence[Call]) -> Turn:
    return Turn(due_s=0.0, index=chain[0].index, chain=chain)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The work of one process. `urls` has one for each item; `seconds_max` counts from the barrier."""

    urls: Mapping[int, str]
    chains: Sequence[Sequence[Call]]
    connections: int
    seconds_max: float


def run(results: Connection, assignment: Assignment, barrier: Barrier, progress: "Synchronized[int]") -> None:
    """Body of the process: wait at the barrier, call, send the answers as one list."""
    # Ctrl-C reaches the whole group of processes; the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    results.send(asyncio.run(call_all(assignment, barrier, progress)))
    results.close()


async def call_all(assignment: Assignment, barrier: Barrier, progress: "Synchronized[int]") -> list[Answer]:
    """Send every chain; each connection takes the next chain as soon as it is free.

    A buyer who waits because the shop says so needs no connection meanwhile.
    """
    waiting = WaitingCalls(assignment.chains)
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
            while (turn := await waiting.take()) is not None:
                tried = await send(session, assignment.urls[turn.call.item_id], turn, deadline_s)
                if isinstance(tried, Turn):
                    waiting.put_back(tried)
                    continue
                answers.append(tried)
                # Only this process writes it, so it needs no lock.
                progress.value = len(answers)
                waiting.answered(turn)

        await asyncio.gather(*(connection() for _ in range(assignment.connections)))
    return answers


async def send(session: aiohttp.ClientSession, url: str, turn: Turn, deadline_s: float) -> Answer | Turn:
    """The answer to a call, or the turn at which it is to be repeated because the shop asks for that."""
    sent_s = time.monotonic()
    if sent_s >= deadline_s:
        return unanswered(turn)
    status, reply, retry_after_seconds = await post(session, url, turn.call)
    now_s = time.monotonic()
    if not turn.tries:
        turn = replace(turn, first_try_seconds=now_s - sent_s)
    turn = replace(turn, tries=turn.tries + 1)
    if reply.get("code") == UNAVAILABLE:
        turn = replace(turn, unavailable_s=(*turn.unavailable_s[:1], now_s))
    retry_seconds = retry_after_seconds
    if status in (0, 503) and retry_seconds is None and turn.unasked_tries + 1 < TRIES_MAX:
        turn = replace(turn, unasked_tries=turn.unasked_tries + 1)
        retry_seconds = RETRY_SECONDS * 2**turn.unasked_tries
    if retry_seconds is not None and now_s + retry_seconds < deadline_s:
        return replace(turn, due_s=now_s + retry_seconds)
    answer = Answer(
        index=turn.call.index,
        outcome=outcome_of(status, reply),
        tries=turn.tries,
        answered_s=now_s,
        first_try_seconds=turn.first_try_seconds,
        unavailable_s=turn.unavailable_s,
    )
    if status != 201:
        return answer
    return replace(
        answer,
        reservation_id=str(reply.get("id")),
        units=int(reply.get("units", 0)),
        expires_at=str(reply.get("expires_at")),
    )


def unanswered(turn: Turn) -> Answer:
    """The answer of a call for which no time is left."""
    outcome = (UNAVAILABLE if turn.unavailable_s else NO_ANSWER) if turn.tries else NOT_SENT
    return Answer(
        index=turn.call.index,
        outcome=outcome,
        tries=turn.tries,
        first_try_seconds=turn.first_try_seconds,
        unavailable_s=turn.unavailable_s,
    )


async def post(session: aiohttp.ClientSession, url: str, call: Call) -> tuple[int, dict[str, Any], float | None]:
    """Status and body of one request, and the Retry-After of a 503; status 0 for a network error or a timeout."""
    body = b'{"units": %d}' % call.units
    try:
        # A redirect could lead away from this machine, so none is followed.
        async with session.post(
            url, data=body, headers={"Authorization": f"Pass {call.pass_text}"}, allow_redirects=False
        ) as response:
            text = await response.read()
            replayed = "Idempotent-Replayed" in response.headers
            status = response.status
            retry_after = response.headers.get("Retry-After", "") if status == 503 else ""
    except (aiohttp.ClientError, TimeoutError, OSError):
        return 0, {}, None
    retry_after_seconds = float(retry_after) if retry_after.isdecimal() else None
    try:
        reply = json.loads(text)
    except ValueError:
        return status, {}, retry_after_seconds
    if not isinstance(reply, dict):
        return status, {}, retry_after_seconds
    if status == 201:
        reply["code"] = "already_reserved" if replayed else "reserved"
    return status, reply, retry_after_seconds


def outcome_of(status: int, reply: dict[str, Any]) -> str:
    if status == 0:
        return NO_ANSWER
    return str(reply.get("code", f"http_{status}"))
