"""Searches and parts of lists from memory: made once for a crowd, each for itself, and only what is for everybody."""

import asyncio
import gzip
import threading
from collections.abc import Callable
from typing import Any

import pytest

from shop.http.public_answers import CACHE_CONTROL
from tests.web.reservations.shadow import Scope
from web import list_answers
from web.list_answers import QUERY_LENGTH_MAX, ListAnswers, key_of_list
from web.shells import FRESH_SECONDS
from web.wsgi_request import RawAnswer

HOST = "localhost:8000"


class Django:
    """What Django would answer, and what it was asked."""

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        self.asked.append(environ)
        number, status = len(self.asked), self.statuses.pop(0) if self.statuses else "200 OK"
        self.may_answer.wait(timeout=10)
        headers = {
            "Cache-Control": CACHE_CONTROL,
            "Vary": "Accept-Encoding",
            "ETag": f'"{number}"',
            "X-Request-ID": "a",
        }
        start_response(status, list(headers.items()))
        return [f"list {number}".encode()]


class Clock:
    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


class Callers:
    """They ask one process."""

    def __init__(self, django: Django) -> None:
        self.django = django
        self.lists = ListAnswers(django)

    async def ask(self, query: str = "q=tea", path: str = "/search/", method: str = "GET", **headers: str) -> RawAnswer:
        named = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = Scope(method, path, query, named)
        key = key_of_list(scope, path, named)
        assert key

        async def in_thread() -> RawAnswer:
            return await asyncio.to_thread(self.lists.make, key, scope, named)

        return self.lists.find(key, named) or await self.lists.answer(key, named, in_thread)

    def all(self, *calls: Any) -> list[RawAnswer]:
        async def together() -> list[RawAnswer]:
            return list(await asyncio.gather(*calls))

        return asyncio.run(together())

    def crowd(self, size: int) -> list[RawAnswer]:
        """They ask the same while Django works on the first call."""

        async def together() -> list[RawAnswer]:
            calls = [asyncio.create_task(self.ask()) for _ in range(size)]
            await asyncio.sleep(0.05)
            self.django.may_answer.set()
            return list(await asyncio.gather(*calls))

        self.django.may_answer.clear()
        return asyncio.run(together())


@pytest.fixture
def django() -> Django:
    return Django()


@pytest.fixture
def callers(django: Django) -> Callers:
    return Callers(django)


def test_a_crowd_that_searches_the_same_asks_django_once(callers: Callers, django: Django) -> None:
    assert {answer[2] for answer in callers.crowd(50)} == {b"list 1"}
    assert {answer[2] for answer in callers.all(*(callers.ask() for _ in range(50)))} == {b"list 1"}
    assert len(django.asked) == 1


def test_it_is_made_again_after_a_second(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_answers, "time", clock := Clock())
    bodies = []
    for _time in range(2):
        bodies += [callers.all(callers.ask())[0][2] for _call in range(2)]
        clock.now_s += FRESH_SECONDS
    assert bodies == [b"list 1", b"list 1", b"list 2", b"list 2"]


def test_another_question_has_another_answer(callers: Callers) -> None:
    api = {"path": "/api/v1/products/"}
    calls = [
        *({}, {"query": "q=cup"}, {"query": "q=tea&page=2"}, {"path": "/zh-hans/search/"}, {"path": "/products/"}),
        *(api, api | {"accept_language": "zh-hans"}, api | {"host": "127.0.0.1"}, api | {"x_forwarded_proto": "https"}),
        api | {"accept_encoding": "gzip"},
    ]
    for _time in range(2):
        bodies = [callers.all(callers.ask(**call))[0][2] for call in calls]
        assert bodies == [f"list {number}".encode() for number in range(1, len(calls) + 1)]
    # A caller who refuses gzip shares the plain form.
    assert callers.all(callers.ask(**api, accept_encoding="gzip;q=0"))[0][2] == b"list 6"


def test_each_gets_the_form_it_takes(callers: Callers, django: Django) -> None:
    for _time in range(2):
        (unchanged,) = callers.all(callers.ask(if_none_match='"1"'))
        zipped, plain = callers.all(callers.ask(accept_encoding="gzip"), callers.ask())
        assert (unchanged[0], unchanged[2]) == (304, b"")
        assert gzip.decompress(zipped[2]) == plain[2] == b"list 1"
        assert "X-Request-ID" not in {name for name, _value in zipped[1]}


def test_the_first_caller_is_counted_by_the_address_it_has_and_a_head_is_answered_as_its_get(
    callers: Callers, django: Django
) -> None:
    """The web server leaves out the body."""
    asked, again = callers.all(callers.ask(method="HEAD", x_forwarded_for="192.0.2.7")) + callers.all(callers.ask())
    assert asked[2] == again[2] == b"list 1"
    (environ,) = django.asked
    assert (environ["REMOTE_ADDR"], environ["HTTP_X_FORWARDED_FOR"]) == ("127.0.0.1", "192.0.2.7")
    assert (environ["REQUEST_METHOD"], environ["QUERY_STRING"]) == ("GET", "q=tea")


def test_where_there_is_no_room_for_the_first_the_others_hear_it_too(callers: Callers, django: Django) -> None:
    django.statuses = ["503 Service Unavailable"]
    assert [answer[0] for answer in callers.crowd(3)] == [503] * 3
    assert [answer[0] for answer in callers.all(callers.ask())] == [200]


def test_a_caller_behind_a_first_one_that_has_gone_asks_itself(callers: Callers, django: Django) -> None:
    async def together() -> RawAnswer:
        first = asyncio.create_task(callers.ask())
        await asyncio.sleep(0.05)
        second = asyncio.create_task(callers.ask())
        await asyncio.sleep(0)
        first.cancel()
        django.may_answer.set()
        return await second

    django.may_answer.clear()
    assert asyncio.run(together())[0] == 200


def test_a_refusal_is_for_its_caller_alone(callers: Callers, django: Django) -> None:
    django.statuses = ["429 Too Many Requests"]
    assert sorted(answer[0] for answer in callers.crowd(3)) == [200, 200, 429]


def test_no_call_waits_long_for_the_answer_to_another(
    callers: Callers, django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def together() -> list[RawAnswer]:
        calls = [asyncio.create_task(callers.ask()) for _ in range(2)]
        async with asyncio.timeout(10):
            while len(django.asked) < 2:
                await asyncio.sleep(0.005)
        django.may_answer.set()
        return await asyncio.gather(*calls)

    monkeypatch.setattr(list_answers, "WAIT_SECONDS", 0.01)
    django.may_answer.clear()
    assert sorted(answer[2] for answer in asyncio.run(together())) == [b"list 1", b"list 2"]


def test_a_process_keeps_a_bounded_number(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_answers, "LISTS_MAX", 5)
    for number in range(20):
        callers.all(callers.ask(query=f"q={number}"))
    assert list(callers.lists._kept) == [f"/search/?q={number}" for number in range(15, 20)]
    assert not callers.lists._being_made


def test_other_calls_are_for_django() -> None:
    for scope in (
        Scope("POST", "/search/", "q=tea", {"host": HOST}),
        Scope("GET", "/search/", "", {"host": HOST}),
        Scope("GET", "/search/", "q=" + "x" * QUERY_LENGTH_MAX, {"host": HOST}),
        Scope("GET", "/search/", "q=tea", {"host": "evil.example"}),
        Scope("GET", "/search/", "q=tea", {"host": HOST, "content-length": "7"}),
        Scope("GET", "/search/", "q=tea", {"host": HOST, "range": "bytes=0-9"}),
        Scope("GET", "/accounts/login/", "next=/", {"host": HOST}),
        Scope("GET", "/products/tea/", "q=tea", {"host": HOST}),
        Scope("GET", "/api/v1/products/", "search=tea", {"host": HOST, "accept": "text/html"}),
        Scope("GET", "/api/v1/me/", "sale=7", {"host": HOST}),
    ):
        assert key_of_list(scope, scope.path, scope.headers) == "", scope
