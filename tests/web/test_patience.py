"""Waits with a common time limit."""

import asyncio

import pytest

from web.bodies import Patience


def test_a_wait_that_takes_too_long_ends_and_others_go_on() -> None:
    async def wait(patience: Patience, event: asyncio.Event) -> str:
        try:
            with patience:
                await event.wait()
        except TimeoutError:
            return "too long"
        return "in time"

    async def run() -> list[str]:
        patience, never, soon = Patience(seconds_max=0.2), asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(wait(patience, never))
        await asyncio.sleep(0.1)
        second, third = (asyncio.create_task(wait(patience, event)) for event in (never, soon))
        soon.set()
        answers = [await third, await first]
        assert not second.done()
        return [*answers, await second]

    assert asyncio.run(run()) == ["in time", "too long", "too long"]


def test_a_task_that_somebody_else_cancels_is_cancelled() -> None:
    async def run() -> None:
        patience = Patience(seconds_max=10)

        async def wait() -> None:
            with patience:
                await asyncio.Event().wait()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_a_task_can_wait_again() -> None:
    async def run() -> None:
        patience = Patience(seconds_max=0.05)
        for _time in range(2):
            with pytest.raises(TimeoutError), patience:
                await asyncio.Event().wait()
        with patience:
            await asyncio.sleep(0)

    asyncio.run(run())
