"""The pipelines of an event loop, which runs in a thread as in a web process, and faults of their servers."""

import asyncio
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar
from uuid import UUID

import pytest
from django.conf import settings
from django.test import override_settings

from seckill import ledger
from seckill.passes import passes
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause
from seckill.store.pipeline.asking import Pipelines
from shop.configuration.store_clients import redis_cache
from shop.local.ports import free_port
from shop.local.stores.store_node import StoreNode
from tests.own_store import OwnStore
from tests.processes import wait_until

Result = TypeVar("Result")

# Many times what any call may take.
SECONDS_MAX = 30

ITEM_ID = 7
TERMS = ledger.Terms(
    quantity=50,
    opens_ms=1,
    closes_ms=4_000_000_000_000,
    hold_ms=60_000,
    per_buyer_max=1,
    price_minor=1900,
    currency="CNY",
)


class RunningPipelines:
    """`with RunningPipelines() as web: web.reserve(…)`. Its methods are for other threads."""

    def __init__(self, new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop) -> None:
        self.pipelines = Pipelines()
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS_MAX)
        self._loop.close()

    async def _close(self) -> None:
        self.pipelines.close()
        await self._loop.shutdown_default_executor()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work` in the event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS_MAX)

    def reserve(
        self, item_id: int, *, reservation_id: UUID | None = None, buyer_id: int = 1, units: int = 1
    ) -> ledger.Reservation:
        """Raises StoreUnreachable and ServerNotKnown."""
        return self.run(self.asked(item_id, reservation_id, buyer_id, units))

    def reserve_at_once(self, item_id: int, *, buyer_ids: range) -> list[ledger.Reservation | BaseException]:
        """The answers to calls of so many buyers that come in one turn of the loop, with the errors."""
        return [answer for _call, _id, answer in self.reserve_each(item_id, [(buyer_id, 1) for buyer_id in buyer_ids])]

    def reserve_each(
        self, item_id: int, calls: Sequence[tuple[int, int]]
    ) -> list[tuple[tuple[int, int], UUID, ledger.Reservation | BaseException]]:
        """The calls (buyer and units), which come in one turn of the loop, their passes' ids and their answers."""
        ids = [passes.new_reservation_id(item_id) for _call in calls]

        async def ask_all() -> list[ledger.Reservation | BaseException]:
            asked = [self.asked(item_id, one, *call) for one, call in zip(ids, calls, strict=True)]
            return await asyncio.gather(*asked, return_exceptions=True)

        return list(zip(calls, ids, self.run(ask_all()), strict=True))

    async def asked(
        self, item_id: int, reservation_id: UUID | None = None, buyer_id: int = 1, units: int = 1
    ) -> ledger.Reservation:
        reservation_id = reservation_id or passes.new_reservation_id(item_id)
        return await ledger.reserve_in_pipeline(
            self.pipelines, item_id=item_id, reservation_id=reservation_id, buyer_id=buyer_id, units=units
        )


def cause_of(web: RunningPipelines, **asked: Any) -> Cause:
    with pytest.raises(StoreUnreachable) as raised:
        web.reserve(ITEM_ID, **asked)
    return raised.value.cause


def told(answers: list[ledger.Reservation | BaseException]) -> Counter[str]:
    """How many answers have each outcome, or each cause of a failure."""
    return Counter(
        answer.cause.value if isinstance(answer, StoreUnreachable) else answer.outcome.value  # type: ignore[union-attr]
        for answer in answers
    )


def wait_for_answer(web: RunningPipelines) -> None:
    """Until the store is asked again: after a loss the next connection is opened a moment later."""
    wait_until(
        lambda: isinstance(web.reserve_at_once(ITEM_ID, buyer_ids=range(1, 2))[0], ledger.Reservation),
        seconds_max=SECONDS_MAX,
    )


def running_at(url: str) -> Any:
    return override_settings(CACHES={**settings.CACHES, "seckill": redis_cache(url, timeout_seconds=0.9)})


@contextmanager
def frozen(store: OwnStore | StoreNode) -> Iterator[None]:
    """It keeps its connections and answers nothing."""
    os.kill(store.process.pid or 0, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(store.process.pid or 0, signal.SIGCONT)


@contextmanager
def demoted(store: OwnStore) -> Iterator[None]:
    """A replica of nobody that it can reach."""
    store.client.replicaof("127.0.0.1", free_port())
    try:
        yield
    finally:
        store.client.replicaof("NO", "ONE")


class FaultyProxy:
    """A port of the server that spoils its replies, as the attributes say. A test changes them meanwhile."""

    def __init__(self, target: int) -> None:
        # When so many more bytes of replies are through, their connection is cut, or is silent if `goes_silent`.
        self.reply_bytes: int | None = None
        self.goes_silent = False
        # Replies come in pieces of this size at most, and each piece is late.
        self.piece_bytes = 65_536
        self.delay_seconds = 0.0
        self._target = target
        self._closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        # OSError: `close` was called.
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.create_connection(("127.0.0.1", self._target))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=(source, target, source is server), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, is_reply: bool) -> None:
        with suppress(OSError):
            while data := source.recv(self.piece_bytes if is_reply else 65_536):
                if is_reply:
                    self._closed.wait(self.delay_seconds)
                # The test changes it meanwhile.
                room = self.reply_bytes if is_reply else None
                target.sendall(data[:room])
                if room is not None:
                    self.reply_bytes = room - len(data) if room > len(data) else None
                    if room <= len(data):
                        self._closed.wait(SECONDS_MAX if self.goes_silent else 0)
                        break
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._closed.set()
        self._listener.close()


@contextmanager
def through_proxy(store: OwnStore) -> Iterator[FaultyProxy]:
    """The store is asked through a proxy."""
    proxy = FaultyProxy(store.server.port)
    with running_at(store.url.replace(f":{store.server.port}", f":{proxy.port}")):
        try:
            yield proxy
        finally:
            proxy.close()
