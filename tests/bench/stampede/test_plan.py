"""The calls that buyers make, and what the client does when the shop does not answer."""

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any

import pytest
from aiohttp import web

from bench.stampede import client
from bench.stampede.plan import NO_ANSWER, NOT_SENT, UNAVAILABLE, Answer, Call, CallKind, Habits, calls_of
from shop.local.ports import free_port

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
YES = {"id": "r-1", "units": 1, "expires_at": "2030-01-01T00:00:00.000Z"}


def calls_by(buyers: int, *, seed: int = 1, items: int = 1, **habits: float) -> list[list[Call]]:
    numbers = count(1)

    def new_pass(item_id: int, buyer_id: int) -> tuple[str, str]:
        number = next(numbers)
        return f"p-{number}", f"r-{number}"

    return calls_of(
        buyer_ids=range(1, buyers + 1),
        item_ids=range(1, items + 1),
        habits=Habits(**habits),  # type: ignore[arg-type]
        seed=seed,
        new_pass=new_pass,
    )


def test_a_repeated_call_is_the_same_call_and_a_second_one_has_a_pass_of_its_own() -> None:
    chains = calls_by(40, units_max=3, repeat_share=1, twice_share=1)

    calls = [call for chain in chains for call in chain]
    assert sorted(call.index for call in calls) == list(range(120))
    for buyer_id in range(1, 41):
        first, repeat, second = sorted((call for call in calls if call.buyer_id == buyer_id), key=lambda c: c.index)
        assert (first.kind, repeat.kind, second.kind) == (CallKind.FIRST, CallKind.REPEAT, CallKind.SECOND)
        assert (repeat.pass_text, repeat.units) == (first.pass_text, first.units)
        assert second.reservation_id != first.reservation_id


def test_some_again_calls_follow_an_answer_and_some_go_beside_the_first() -> None:
    chains = calls_by(200, repeat_share=1, twice_share=0)

    follow = sum(len(chain) == 2 for chain in chains)
    beside = sum(chain[0].kind is CallKind.REPEAT for chain in chains)
    assert follow + beside == 200
    assert min(follow, beside) > 50


def test_each_item_has_as_many_buyers_and_a_buyer_wants_one_item() -> None:
    habits: dict[str, Any] = {"items": 12, "units_max": 3, "repeat_share": 0.5, "twice_share": 0.5}
    chains = calls_by(50, seed=3, **habits)
    wanted = {call.buyer_id: call.item_id for chain in chains for call in chain}
    assert all(call.item_id == wanted[call.buyer_id] for chain in chains for call in chain)
    assert sorted(Counter(wanted.values()).values()) == [4] * 10 + [5] * 2
    # By the seed, and not in turn.
    assert [wanted[buyer_id] for buyer_id in range(1, 13)] != list(range(1, 13))
    assert chains == calls_by(50, seed=3, **habits)
    assert chains != calls_by(50, seed=4, **habits)


def call_a_shop(
    handler: Handler, chains: Sequence[Sequence[Call]], *, seconds_max: float = 30, connections: int = 1
) -> list[Answer]:
    """Send the chains to a web server that answers with `handler`, from this process."""

    async def both() -> list[Answer]:
        app = web.Application()
        app.router.add_post("/", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        context = multiprocessing.get_context("spawn")
        assignment = client.Assignment(
            urls={1: f"http://127.0.0.1:{port}/"}, chains=chains, connections=connections, seconds_max=seconds_max
        )
        try:
            return await client.call_all(assignment, context.Barrier(1), context.Value("L", 0))
        finally:
            await runner.cleanup()

    return asyncio.run(both())


def test_a_call_without_an_answer_is_repeated_with_the_same_pass() -> None:
    heard: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        heard.append(request.headers["Authorization"])
        if len(heard) == 1:
            assert request.transport
            request.transport.close()
        if len(heard) == 2:
            return web.json_response({"code": "unavailable"}, status=503)
        return web.json_response(YES, status=201)

    (answer,) = call_a_shop(handler, calls_by(1, repeat_share=0, twice_share=0))

    assert heard == ["Pass p-1"] * 3
    assert (answer.outcome, answer.tries, answer.reservation_id) == ("reserved", 3, "r-1")


def test_a_shop_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRY_SECONDS", 0.01)

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.close()
        return web.Response()

    (answer,) = call_a_shop(handler, calls_by(1, repeat_share=0, twice_share=0))

    assert (answer.outcome, answer.tries, answer.is_yes) == (NO_ANSWER, client.TRIES_MAX, False)
    # Nothing is sent once time is over.
    answers = call_a_shop(handler, calls_by(3, repeat_share=0, twice_share=0), seconds_max=0)
    assert [(answer.outcome, answer.tries) for answer in answers] == [(NOT_SENT, 0)] * 3


def test_a_buyer_repeats_the_call_when_the_shop_says_so_and_others_go_on_meanwhile() -> None:
    heard: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        heard.append(request.headers["Authorization"])
        if request.headers["Authorization"] == "Pass p-1" and heard.count("Pass p-1") <= client.TRIES_MAX + 1:
            # Longer than the two other calls take, and then at once.
            seconds = "1" if len(heard) == 1 else "0"
            return web.json_response({"code": "unavailable"}, status=503, headers={"Retry-After": seconds})
        return web.json_response(YES, status=201)

    answers = {answer.index: answer for answer in call_a_shop(handler, calls_by(3, repeat_share=0, twice_share=0))}

    assert heard == ["Pass p-1", "Pass p-2", "Pass p-3", *["Pass p-1"] * (client.TRIES_MAX + 1)]
    assert (answers[0].outcome, answers[0].tries) == ("reserved", client.TRIES_MAX + 2)
    first_s, last_s = answers[0].unavailable_s
    assert last_s - first_s >= 1
    assert last_s <= answers[0].answered_s
    assert [answers[index].unavailable_s for index in (1, 2)] == [(), ()]


def test_a_buyer_who_waits_longer_than_the_test_is_in_doubt() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response({"code": "unavailable"}, status=503, headers={"Retry-After": "60"})

    (answer,) = call_a_shop(handler, calls_by(1, repeat_share=0, twice_share=0))

    assert (answer.outcome, answer.tries, len(answer.unavailable_s)) == (UNAVAILABLE, 1, 1)


def test_a_second_call_follows_the_answer_and_not_the_request() -> None:
    heard: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        heard.append(request.headers["Authorization"])
        if len(heard) == 1:
            return web.json_response({"code": "unavailable"}, status=503, headers={"Retry-After": "0"})
        return web.json_response(YES, status=201)

    chain = next(chain for chain in calls_by(20, repeat_share=0, twice_share=1) if len(chain) == 2)
    answers = call_a_shop(handler, [chain], connections=4)

    first, second = (f"Pass {call.pass_text}" for call in chain)
    assert heard == [first, first, second]
    assert [answer.index for answer in answers] == [call.index for call in chain]


def test_answers_are_told_apart() -> None:
    replies = iter(
        [
            web.json_response(YES, status=201),
            web.json_response(YES, status=201, headers={"Idempotent-Replayed": "true"}),
            web.json_response({"code": "sold_out"}, status=410),
            web.Response(text="<h1>Server error</h1>", status=500),
            web.Response(status=302, headers={"Location": "http://shop.example/"}),
        ]
    )

    async def handler(request: web.Request) -> web.StreamResponse:
        return next(replies)

    answers = call_a_shop(handler, calls_by(5, repeat_share=0, twice_share=0))

    assert [answer.outcome for answer in answers] == [
        "reserved",
        "already_reserved",
        "sold_out",
        "http_500",
        "http_302",
    ]
    assert [answer.is_yes for answer in answers] == [True, True, False, False, False]
