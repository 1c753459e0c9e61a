"""The calls that are under way on one connection to a server of the reservation store.

All calls that are sent together are one batch. Where a yes must be on replicas before it is told
(SECKILL_YES_REPLICAS), a batch ends in one WAIT, which is for all yeses of the batch: a group commit of the promise.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from redis import Redis
from redis.exceptions import ConnectionError, NoScriptError, RedisError

from seckill.store.barrier import KEY_LIFE_MS, TooFewReplicas
from seckill.store.keys import barrier_key
from seckill.store.pipeline.connection import LoopConnection
from seckill.store.scripts import Script, packed_command
from seckill.store.yes_replicas import yes_replicas


@dataclass(slots=True, eq=False)
class Call:
    """One call of a script. `answer` gets the reply as bytes, or a RedisError.

    `is_yes` says whether a reply must be on replicas before it is told.
    """

    command: bytes
    script: Script
    item_id: int
    is_yes: Callable[[Any], bool]
    answer: asyncio.Future[Any]
    # When it was asked, by the loop's clock.
    asked_s: float
    has_no_script: bool = False

    def finish(self, reply: Any) -> None:
        # The caller may have gone.
        if self.answer.done():
            return
        if isinstance(reply, Exception):
            self.answer.set_exception(reply)
        else:
            self.answer.set_result(reply)


@dataclass(slots=True)
class Batch:
    """The yeses of one batch that wait for `wanted` replicas, and the error of the write that its WAIT counts from."""

    wanted: int
    yeses: list[tuple[Call, Any]] = field(default_factory=list)
    barrier_error: RedisError | None = None


@dataclass(slots=True)
class Expected:
    """A reply that is to come. `take` gets it, or the error if it will not come."""

    take: Callable[[Any], None]
    sent_s: float


class Link:
    """One connection and what is expected of it. Used from one event loop."""

    def __init__(
        self,
        connection: Any,
        *,
        client: Redis,
        loop: asyncio.AbstractEventLoop,
        again: Callable[[Call], None],
        changed: Callable[[], None],
        lost: Callable[["Link"], None],
    ) -> None:
        """`again` gets calls that the server has not run, since it did not know their script; `changed` is called when
        there is room for more calls, `lost` when the connection is."""
        self.client = client
        self._loop = loop
        self._again = again
        self._changed = changed
        self._lost = lost
        self._expected: deque[Expected] = deque()
        # How many of them, from the left, nobody waits for any more. Their replies may still come.
        self._given_up = 0
        self._is_loading = False
        self._is_retired = False
        # Whether a WAIT is under way: the server answers nothing else on this connection meanwhile.
        self.is_waiting = False
        # Whether the last WAIT found too few replicas; None before the first one.
        self.lacks_replicas: bool | None = None
        self._connection = LoopConnection(connection, loop=loop, take=self._take, lost=self._fail_all)

    @property
    def under_way(self) -> int:
        return len(self._expected)

    @property
    def oldest_s(self) -> float | None:
        """When the oldest call that somebody waits for was sent, by the loop's clock."""
        return self._expected[self._given_up].sent_s if self._given_up < len(self._expected) else None

    def send(self, calls: Sequence[Call]) -> None:
        """Send the calls in one write."""
        now_s = self._loop.time()
        words = [call.command for call in calls]
        if wanted := yes_replicas():
            batch = Batch(wanted)
            # A repeated yes was written by another connection: a write of our own, which WAIT counts from, comes after.
            words.append(packed_command("SET", barrier_key(calls[0].item_id), "", "PX", KEY_LIFE_MS))
            words.append(packed_command("WAIT", wanted, settings.SECKILL_YES_WAIT_MS))
            self._expected.extend(Expected(partial(self._note_reply, call, batch), now_s) for call in calls)
            self._expected.append(Expected(partial(self._note_barrier, batch), now_s))
            self._expected.append(Expected(partial(self._end_wait, batch), now_s))
            self.is_waiting = True
        else:
            self._expected.extend(Expected(partial(self._answer, call), now_s) for call in calls)
        self._connection.write(b"".join(words))

    def give_up(self, *, sent_before_s: float, error: RedisError) -> None:
        """Fail the calls that were sent before this time. Nothing more is sent, and later calls may have answers."""
        self._is_retired = True
        while (oldest_s := self.oldest_s) is not None and oldest_s <= sent_before_s:
            late = self._expected[self._given_up]
            self._given_up += 1
            late.take(error)
        self._close_if_done()

    def retire(self) -> None:
        """Close the connection when the calls under way have their answers."""
        self._is_retired = True
        self._close_if_done()

    def close(self) -> None:
        """Close the connection at once. Calls under way get no answer."""
        self._connection.close()

    def _close_if_done(self) -> None:
        if self._is_retired and self._given_up == len(self._expected):
            self._connection.close()

    def _take(self, replies: list[Any]) -> None:
        for reply in replies:
            if not self._expected:
                self._fail_all(ConnectionError("a reply that no call asked for"))
                return
            expected = self._expected.popleft()
            if self._given_up:
                self._given_up -= 1
            else:
                expected.take(reply)
        self._close_if_done()
        self._changed()

    def _fail_all(self, error: ConnectionError) -> None:
        self._connection.close()
        self._is_retired = True
        expected = list(self._expected)[self._given_up :]
        self._expected.clear()
        self._given_up = 0
        for one in expected:
            one.take(error)
        self._lost(self)

    def _answer(self, call: Call, reply: Any) -> None:
        if isinstance(reply, NoScriptError) and not call.has_no_script and not self._is_retired:
            self._load(call)
        else:
            call.finish(reply)

    def _load(self, call: Call) -> None:
        """Load the script, once for all calls that miss it, and send the call again: it has not run."""
        call.has_no_script = True
        if not self._is_loading:
            self._is_loading = True
            self._expected.append(Expected(self._end_load, self._loop.time()))
            self._connection.write(packed_command("SCRIPT", "LOAD", call.script.source))
        self._again(call)

    def _end_load(self, _reply: Any) -> None:
        self._is_loading = False

    def _note_reply(self, call: Call, batch: Batch, reply: Any) -> None:
        if not isinstance(reply, Exception) and call.is_yes(reply):
            batch.yeses.append((call, reply))
        else:
            self._answer(call, reply)

    def _note_barrier(self, batch: Batch, reply: Any) -> None:
        if isinstance(reply, RedisError):
            batch.barrier_error = reply

    def _end_wait(self, batch: Batch, reply: Any) -> None:
        self.is_waiting = False
        # Of two errors, the first one says more: a replica refuses the write, and then knows no WAIT.
        error = batch.barrier_error or (reply if isinstance(reply, RedisError) else None)
        if error is None and reply < batch.wanted:
            error = TooFewReplicas(f"{reply} of {batch.wanted} replicas have confirmed")
        self.lacks_replicas = error is not None
        for call, yes in batch.yeses:
            call.finish(error or yes)
