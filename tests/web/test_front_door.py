"""The front door with parts that fail or have no room: the view answers, and connections stay open."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]
from structlog.testing import capture_logs

from seckill.live.answer_counts import AnswerCounts
from seckill.passes import passes
from seckill.store.pipeline.asking import Pipelines
from tests.web.reservations.shadow import Scope
from web.application import FrontDoor
from web.board.answers import BoardAnswers
from web.bodies import SMALL_BYTES_MAX, bytes_max
from web.lanes import Lane, LaneFull
from web.list_answers import ListAnswers
from web.reservations.calls import Question
from web.reservations.gate import Gate
from web.reservations.headers import ViewAnswers
from web.reservations.hot_lane import HotLane
from web.shells import Shells
from web.warm_start import OpenSales, WarmStart
from web.wsgi_request import RawAnswer

LIVE = "/api/v1/sale-items/7/live/"
LARGE = SMALL_BYTES_MAX + 1


class FullLane(Lane):
    async def run(self, work: Callable[[], Any]) -> Any:
        raise LaneFull


def django(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"the view's answer"]


class Protocol:
    """What granian gives; it keeps the answer."""

    def __init__(self) -> None:
        self.answer: RawAnswer | None = None

    def response_bytes(self, *answer: Any) -> None:
        self.answer = answer


class NoDjango(Lane):
    async def run(self, work: Callable[[], Any]) -> Any:
        return 500, [], b""


def front_door(*, lane: type[Lane] = Lane, broken: Mapping[str, Any] = MappingProxyType({})) -> FrontDoor:
    """With some of its parts broken."""
    views, shells = ViewAnswers(), Shells(django)
    pipelines = Pipelines()
    boards = BoardAnswers(lambda _sale_id: None)
    parts: dict[str, Any] = {"gate": Gate(views=views), "views": views, "shells": shells, "boards": boards}
    parts |= {"lists": ListAnswers(django), **broken}
    hot_lane = HotLane(views=parts["views"], pipelines=pipelines, gate=parts["gate"])
    warm_start = WarmStart(
        lanes=[],
        connect_to_database=lambda: None,
        connect_to_store=lambda item_ids: None,
        pipelines=pipelines,
        read_sales=lambda: OpenSales([], []),
        gate=None,
        pages=shells,
    )
    lanes = [lane("all", path=r"(?s:.*)", threads=1, waiting_seconds_max=2)]
    return FrontDoor(
        django,
        lanes=lanes,
        hot_lane=hot_lane,
        warm_start=warm_start,
        shells=parts["shells"],
        lists=parts["lists"],
        board_answers=parts["boards"],
    )


def told(scope: Scope, **parts: Any) -> RawAnswer:
    """What the front door answers."""
    door, protocol = front_door(**parts), Protocol()
    asyncio.run(door.__rsgi__(scope, protocol))  # type: ignore[arg-type]
    assert protocol.answer is not None
    return protocol.answer


@pytest.mark.parametrize("waits", [False, True])
def test_a_request_that_need_not_wait_is_answered_before_the_next_turn_of_the_event_loop(waits: bool) -> None:
    loop, protocol = asyncio.new_event_loop(), Protocol()

    async def answer() -> None:
        await asyncio.sleep(0) if waits else None
        protocol.response_bytes(200, [], b"")

    async def answered_at_once() -> bool:
        task = asyncio.create_task(answer())
        was_answered = protocol.answer is not None
        await task
        return was_answered

    front_door().__rsgi_init__(loop)
    # Python 3.11 has no tasks that begin at once.
    expected = not waits and sys.version_info >= (3, 12)
    assert loop.run_until_complete(answered_at_once()) is expected
    assert protocol.answer is not None
    loop.close()


class Uploading(Protocol):
    """Its client sends a large body, or goes away before it is there."""

    is_gone = False

    async def __call__(self) -> bytes:
        if self.is_gone:
            raise ProtocolClosed
        return b"x" * LARGE


@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.parametrize("length", [LARGE, bytes_max("/admin/") + 1])
def test_the_memory_of_a_large_body_is_free_after_its_answer(is_gone: bool, length: int) -> None:
    door, protocol = front_door(), Uploading()
    protocol.is_gone = is_gone
    scope = Scope("POST", "/admin/", headers={"content-length": str(length)})
    asyncio.run(door.__rsgi__(scope, protocol))  # type: ignore[arg-type]
    assert (protocol.answer is None) == (is_gone and length == LARGE)
    assert door._bodies.taken("/admin/") == 0


class Streaming(Protocol):
    """What granian gives for HTTP/2: nothing says whether a body comes. It ends with an empty part."""

    def __init__(self, parts: list[bytes], *, ends: bool) -> None:
        super().__init__()
        self.parts, self.ends = parts, ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part
        if not self.ends:
            await asyncio.sleep(60)
        yield b""


@pytest.mark.parametrize(
    ("parts", "ends", "status"),
    [
        ([], True, 200),
        ([b""], True, 200),
        ([b'{"units": 3}'], True, 411),
        ([b"", b"x"], False, 411),
        ([b""], False, 408),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/sale-items/7/reservations/", "/cart/"])
def test_a_body_without_a_length_is_refused_under_http_2_and_not_read_as_empty(
    parts: list[bytes], ends: bool, status: int, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.bodies.BODY_SECONDS_MAX", 0.1)
    protocol = Streaming(parts, ends=ends)
    asyncio.run(front_door().__rsgi__(Scope("POST", path, http_version="2"), protocol))  # type: ignore[arg-type]
    assert protocol.answer is not None
    assert protocol.answer[0] == status
    assert "Connection" not in dict(protocol.answer[1])
    # A question has no body, so nothing waits for one.
    told(Scope("GET", path, http_version="2"))


class JustTold:
    """A gate that has given live figures a moment ago, and nothing else."""

    def at_once(self, question: Question) -> RawAnswer:
        return 200, [], f"figures of {question[1]}".encode()


def test_the_same_question_gets_the_figures_that_were_just_given() -> None:
    assert told(Scope("GET", LIVE), broken={"gate": JustTold()})[2] == b"figures of 7"
    # A head is for the view, and has the length of what is not sent.
    _status, headers, body = told(Scope("HEAD", LIVE), broken={"gate": JustTold()})
    assert (dict(headers)["Content-Length"], body) == (str(len(b"the view's answer")), b"")


class Broken:
    """A part with a bug."""

    def __getattribute__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


def test_a_part_with_a_bug_leaves_the_call_to_the_view() -> None:
    for part, path in (
        *(("gate", LIVE), ("views", LIVE), ("shells", "/"), ("shells", "/api/v1/sales/"), ("boards", "/board/7/")),
        ("lists", "/search/?q=tea"),
    ):
        path, _mark, query = path.partition("?")
        with capture_logs() as lines:
            status, _headers, body = told(Scope("GET", path, query, {"host": "localhost"}), broken={part: Broken()})
        assert (status, body) == (200, b"the view's answer"), part
        assert [line["log_level"] for line in lines] == ["error"], part


def test_a_refusal_at_overload_leaves_the_connection_open_and_is_in_the_language_of_the_caller() -> None:
    """Its body has been read. A closed connection would cost the clients of an overloaded shop another handshake."""
    cases: list[tuple[str, dict[str, str], str]] = [
        (LIVE, {}, "en"),
        ("/zh-hans/cart/", {"accept-language": "en"}, "zh"),
        ("/cart/", {"accept-language": "zh-CN", "cookie": "django_language=zh-hans"}, "en"),
        ("/api/v1/me/", {"accept-language": "zh-CN"}, "zh"),
        ("/api/v1/me/", {"accept-language": "en", "cookie": "a=b; django_language=zh-hans"}, "zh"),
        ("/admin/", {"accept-language": "fr;q=0.9, zh-Hans;q=0.8", "cookie": "django_language=xx"}, "zh"),
        ("/api/v1/me/", {"accept-language": "en" + ",zh" * 1000, "cookie": "django_language=" + "x" * 1000}, "en"),
    ]
    for path, asked, language in cases:
        status, headers, body = told(Scope("GET", path, headers=asked), lane=FullLane)
        assert status == 503
        assert "Connection" not in dict(headers)
        assert "Retry-After" in dict(headers)
        text = json.loads(body)["detail"] if path.startswith("/api/") else body.decode()
        assert text.isascii() == (language == "en"), (path, asked)


class Failing(Lane):
    async def run(self, work: Callable[[], Any]) -> Any:
        raise ZeroDivisionError


def test_the_line_of_a_call_that_fails_has_no_link_that_opens_an_order() -> None:
    with capture_logs() as lines:
        assert told(Scope("GET", f"/orders/guest/{'x' * 40}/pay/"), lane=Failing)[0] == 500
    assert [line["path"] for line in lines] == ["/orders/guest/…/pay/"]


class Lossy(dict[str, str]):
    """Headers of which granian cannot give one."""

    def __init__(self, lost: str) -> None:
        super().__init__({"host": "localhost", "accept-language": "zh-hans"})
        self.lost = lost

    def __contains__(self, name: object) -> bool:
        return name == self.lost or super().__contains__(name)


@pytest.mark.parametrize("path", ["/cart/", "/api/v1/me/", "/search/", "/api/v1/sale-items/7/reservations/"])
@pytest.mark.parametrize("lost", ["cookie", "authorization", "x-forwarded-for", "accept"])
def test_a_call_whose_header_is_lost_is_not_taken_for_another_one(path: str, lost: str) -> None:
    status, _headers, body = told(Scope("POST" if "items" in path else "GET", path, "q=tea", Lossy(lost)))
    assert status == (200 if lost == "accept" else 400)
    assert path.startswith("/api/") == (b"bad_request" in body) or lost == "accept"


def test_of_cookies_in_fields_of_their_own_one_that_is_lost_costs_nobody_the_others() -> None:
    """As a browser sends them over HTTP/2."""
    headers = Lossy("cookie")
    headers.items = lambda: [("host", "localhost"), ("cookie", "sessionid=abc")]  # type: ignore[method-assign,assignment,return-value]
    assert told(Scope("GET", "/cart/", "", headers))[0] == 200


@pytest.mark.parametrize("lane", [FullLane, NoDjango])
def test_a_call_to_reserve_without_an_answer_is_counted_as_an_error(
    lane: type[Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[tuple[int, str]] = []
    monkeypatch.setattr(AnswerCounts, "add", lambda _self, item_id, word: counted.append((item_id, word)))
    pass_text = passes.issue(item_id=7, buyer_id=1, expires_s=int(time.time()) + 600)
    headers = {"authorization": f"Pass {pass_text}"}
    for path in ("/api/v1/sale-items/7/reservations/", "/api/v1/sale-items/7/passes/"):
        assert told(Scope("POST", path, headers=headers), lane=lane)[0] >= 500
    assert counted == [(7, "error")]
