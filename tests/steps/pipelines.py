"""The pipelines of an event loop, which runs in a thread as in a web process."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Self, TypeVar
from uuid import UUID

from seckill import ledger
from seckill.passes import passes
from seckill.store.pipeline.asking import Pipelines

Result = TypeVar("Result")

# Many times what any call may take.
SECONDS_MAX = 30


class RunningPipelines:
    """`with RunningPipelines() as web: web.reserve(…)`. Its methods are for other threads."""

    def __init__(self) -> None:
        self.pipelines = Pipelines()
        self._loop = asyncio.new_event_loop()
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
        return self.run(self._asked(item_id, reservation_id, buyer_id, units))

    def reserve_at_once(self, item_id: int, *, buyer_ids: range) -> list[ledger.Reservation | BaseException]:
        """The answers to calls of so many buyers that come in one turn of the loop, with the errors."""
        return [answer for _call, _id, answer in self.reserve_each(item_id, [(buyer_id, 1) for buyer_id in buyer_ids])]

    def reserve_each(
        self, item_id: int, calls: Sequence[tuple[int, int]]
    ) -> list[tuple[tuple[int, int], UUID, ledger.Reservation | BaseException]]:
        """The calls (buyer and units), which come in one turn of the loop, their passes' ids and their answers."""
        ids = [passes.new_reservation_id(item_id) for _call in calls]

        async def ask_all() -> list[ledger.Reservation | BaseException]:
            asked = [self._asked(item_id, one, *call) for one, call in zip(ids, calls, strict=True)]
            return await asyncio.gather(*asked, return_exceptions=True)

        return list(zip(calls, ids, self.run(ask_all()), strict=True))

    async def _asked(self, item_id: int, reservation_id: UUID | None, buyer_id: int, units: int) -> ledger.Reservation:
        reservation_id = reservation_id or passes.new_reservation_id(item_id)
        return await ledger.reserve_in_pipeline(
            self.pipelines, item_id=item_id, reservation_id=reservation_id, buyer_id=buyer_id, units=units
        )
