"""The pipeline to one server of the reservation store: all calls of one turn of the event loop go out in one write.

What may go wrong, and what a call is told: the server is silent (it has waited long enough, and `timeout` goes out
alone), the connection is lost or the server cannot be reached (`unreachable`), too many calls wait (PipelineFull).
Whether a call that was under way has taken effect is not known then; it can be repeated, since it has an id.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from redis import Redis
from redis.exceptions import ConnectionError, RedisError, TimeoutError

from seckill.store.breaker import breaker_of
from seckill.store.pipeline.connection import opened
from seckill.store.pipeline.link import Call, Link
from seckill.store.scripts import Script

# What a server has of one process at a time. It answers so many within some milliseconds, so a process is not slower
# for it; and of a hundred processes at an opening, it has as many as it can answer in a fraction of the time limit.
UNDER_WAY_MAX = 64
# A rush at an opening waits, and an answer after some seconds is better than a refusal; more than these could not be
# answered in that time.
WAITING_MAX = 8_000
WAITING_SECONDS_MAX = 5.0
# How often limits are looked at, as a share of the time that a call may take.
LOOK_SHARE = 0.1
# How long opening a connection may take, in times of what one call may: a call that waits for it is told within 2 s.
CONNECT_SHARE = 2
# How soon after the last connection the next one is opened; after each failure twice as long, up to the second one.
# After a server that was silent, the breaker says when the next call may try.
BACKOFF_SECONDS = 0.05
BACKOFF_SECONDS_MAX = 1.0


class PipelineFull(TimeoutError):
    """So many calls wait that this one could not be answered in time. It was not sent."""


class Pipeline:
    """Used from one event loop."""

    def __init__(self, client: Redis, *, loop: asyncio.AbstractEventLoop) -> None:
        """`client` is asked for a connection, and for how long a call may take."""
        self._client = client
        self._loop = loop
        self.breaker = breaker_of(client)
        self._seconds_max: float = client.connection_pool.connection_kwargs["socket_timeout"]
        self._waiting: deque[Call] = deque()
        self._link: Link | None = None
        # Each batch takes as long as its WAIT then, so most of a rush would wait in vain.
        self._lacks_replicas = False
        # Links that take no more calls, until the last one under way has its answer or is given up.
        self._old_links: set[Link] = set()
        self._connecting: asyncio.Task[None] | None = None
        self._connect_began_s = 0.0
        self._connect_again_s = 0.0
        self._backoff_seconds = BACKOFF_SECONDS
        # Why there is no connection, if the last attempt has failed.
        self._connect_error: RedisError | None = None
        self._is_flush_due = False
        self._timer: asyncio.TimerHandle | None = None

    def refusal(self) -> RedisError | None:
        """Why a call would not be tried now."""
        if len(self._waiting) >= WAITING_MAX:
            return PipelineFull("too many calls wait for the store")
        if self._link is None and self._connecting is None and self._loop.time() < self._connect_again_s:
            return self._connect_error
        return None

    async def run(self, script: Script, command: bytes, *, item_id: int, is_yes: Callable[[Any], bool]) -> Any:
        """The script's reply as the server sends it. Raises RedisError.

        `command` is the packed call of the script; `is_yes` says whether a reply must be on replicas before it is told.
        """
        call = Call(command, script, item_id, is_yes, self._loop.create_future(), self._loop.time())
        self._waiting.append(call)
        self._flush_soon()
        return await call.answer

    async def connect(self) -> None:
        """Open the connection before the first call. Raises nothing."""
        if self._link is None:
            await asyncio.wait([self._start_connecting()])

    def _start_connecting(self) -> asyncio.Task[None]:
        if self._connecting is None:
            # A server that closes each connection, or that is not the primary any more, is not asked without a pause.
            self._connect_began_s = max(self._loop.time(), self._connect_again_s)
            self._connecting = self._loop.create_task(self._connect())
        return self._connecting

    def _flush_soon(self) -> None:
        """Send what waits at the end of this turn of the loop."""
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        link = self._link
        if link is None:
            if self._waiting:
                self._start_connecting()
        elif not link.is_waiting and (room := UNDER_WAY_MAX - link.under_way) > 0 and self._waiting:
            calls = self._next_calls(room)
            if calls:
                link.send(calls)
        self._set_timer()

    def _next_calls(self, room: int) -> list[Call]:
        calls: list[Call] = []
        while self._waiting and len(calls) < room:
            call = self._waiting.popleft()
            # Where the client has gone, a call that was not sent need not be.
            if not call.answer.done():
                calls.append(call)
        return calls

    async def _connect(self) -> None:
        try:
            await asyncio.sleep(self._connect_began_s - self._loop.time())
            connection = await asyncio.to_thread(opened, self._client)
        except Exception as error:
            self._connect_failed(error if isinstance(error, RedisError) else ConnectionError(repr(error)))
            return
        finally:
            self._connecting = None
        self._connect_error = None
        self._backoff_seconds = BACKOFF_SECONDS
        self._connect_again_s = self._loop.time() + BACKOFF_SECONDS
        self._link = Link(
            connection,
            client=self._client,
            loop=self._loop,
            again=self._waiting.appendleft,
            changed=self._take_stock,
            lost=self._forget,
        )
        self._flush()

    def _connect_failed(self, error: RedisError) -> None:
        self._connect_error = error
        if isinstance(error, TimeoutError):
            self.breaker.timed_out()
        else:
            self.breaker.answered()
            self._connect_again_s = self._loop.time() + self._backoff_seconds
            self._backoff_seconds = min(2 * self._backoff_seconds, BACKOFF_SECONDS_MAX)
        self._fail_waiting(error)

    def _fail_waiting(self, error: RedisError) -> None:
        # The same deque goes on: a link puts back what has not run.
        while self._waiting:
            self._waiting.popleft().finish(error)

    def _take_stock(self) -> None:
        """Replies have come: there may be room for more calls."""
        self.breaker.answered()
        if self._link and self._link.lacks_replicas is not None:
            self._lacks_replicas = self._link.lacks_replicas
        if self._waiting:
            self._flush_soon()

    def _forget(self, link: Link) -> None:
        """The connection is lost. What waits goes out over the next one."""
        self._old_links.discard(link)
        if link is self._link:
            self._link = None
        if self._waiting:
            self._flush_soon()

    def retire(self) -> None:
        """Send nothing more over this connection. The next one asks again which server is the primary."""
        if self._link:
            link, self._link = self._link, None
            self._old_links.add(link)
            link.retire()

    def close(self) -> None:
        """For an event loop that ends. Calls under way get no answer."""
        if self._timer:
            self._timer.cancel()
        if self._connecting and not self._loop.is_closed():
            self._connecting.cancel()
        for link in self._links():
            link.close()

    def _links(self) -> list[Link]:
        return [link for link in (self._link, *self._old_links) if link]

    def _set_timer(self) -> None:
        """Look at the limits soon, while a call has one: one timer serves all calls."""
        if self._timer is None and (self._waiting or any(link.oldest_s is not None for link in self._links())):
            self._timer = self._loop.call_later(self._seconds_max * LOOK_SHARE, self._look_at_limits)

    def _look_at_limits(self) -> None:
        self._timer = None
        now_s = self._loop.time()
        for link in self._links():
            if link.oldest_s is not None and link.oldest_s + self._seconds_max <= now_s:
                self._time_out(link, now_s=now_s)
        if self._connecting and self._connect_began_s + CONNECT_SHARE * self._seconds_max <= now_s:
            self._fail_all_that_wait(TimeoutError("the store did not open a connection in time"))
        waiting_seconds_max = self._seconds_max if self._lacks_replicas else WAITING_SECONDS_MAX
        while self._waiting and self._waiting[0].asked_s + waiting_seconds_max <= now_s:
            self._waiting.popleft().finish(PipelineFull("the call has waited too long for the store"))
        self._old_links = {link for link in self._old_links if link.oldest_s is not None}
        self._set_timer()

    def _time_out(self, link: Link, *, now_s: float) -> None:
        error = TimeoutError("the store did not answer in time")
        # Over a former link nothing is sent: it says nothing of the server of now.
        if link is self._link:
            self.retire()
            self._fail_all_that_wait(error)
        link.give_up(sent_before_s=now_s - self._seconds_max, error=error)

    def _fail_all_that_wait(self, error: TimeoutError) -> None:
        """No call waits for a server that is silent."""
        self.breaker.timed_out()
        self._fail_waiting(error)
