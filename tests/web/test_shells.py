"""Public pages from memory: one rendering for a crowd, the last good page while there is none, nothing personal."""

import asyncio
import gzip
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shop.http.public_answers import CACHE_CONTROL
from tests.web.reservations.shadow import Scope
from web import shells as shells_module
from web.shells import FRESH_SECONDS, LAST_GOOD_SECONDS, STILL_GOOD_SECONDS, Shells, asked_of
from web.wsgi_request import RawAnswer

HOST = "localhost:8000"
SALES = "/api/v1/sales/"


class Django:
    """What Django would answer, and how often it was asked."""

    def __init__(self) -> None:
        self.status = "200 OK"
        self.headers = {"Content-Type": "text/html", "Cache-Control": CACHE_CONTROL, "Vary": "Cookie"}
        self.asked: list[dict[str, Any]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        # Only pages below it wait for `may_answer`.
        self.slow_path = "/"

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        self.asked.append(environ)
        number = len(self.asked)
        if environ["PATH_INFO"].startswith(self.slow_path):
            self.may_answer.wait(timeout=10)
        etag = {"ETag": f'"etag{number}"'} if self.status.startswith("200") else {}
        start_response(self.status, list({**self.headers, **etag, "X-Request-ID": "one"}.items()))
        return [f"page {number} of {environ['PATH_INFO']}".encode()]


class Clock:
    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(shells_module, "time", clock)
    return clock


@pytest.fixture
def django() -> Iterator[Django]:
    django = Django()
    yield django
    django.may_answer.set()


async def get(
    shells: Shells, path: str = "/", *, method: str = "GET", host: str = HOST, **headers: str
) -> RawAnswer | None:
    named = {name.replace("_", "-"): value for name, value in {"host": host, **headers}.items()}
    asked = asked_of(Scope(method, path, headers=named), path)
    return await shells.answer(**asked) if asked else None


def body_of(answer: RawAnswer | None) -> str:
    assert answer is not None
    return answer[2].decode()


def test_a_page_is_rendered_once_a_second(django: Django, clock: Clock) -> None:
    async def visit() -> None:
        shells = Shells(django)
        for _ in range(100):
            assert body_of(await get(shells)) == "page 1 of /"
        clock.now_s += FRESH_SECONDS - 0.01
        assert body_of(await get(shells)) == "page 1 of /"
        clock.now_s += 0.02
        assert body_of(await get(shells)) == "page 2 of /"
        assert body_of(await get(shells, "/zh-hans/sales/7/")) == "page 3 of /zh-hans/sales/7/"

    asyncio.run(visit())
    assert len(django.asked) == 3


def test_a_crowd_waits_for_one_rendering(django: Django) -> None:
    async def visit() -> list[RawAnswer | None]:
        shells = Shells(django)
        django.may_answer.clear()
        crowd = [asyncio.create_task(get(shells)) for _ in range(50)]
        await asyncio.sleep(0.05)
        django.may_answer.set()
        return await asyncio.gather(*crowd)

    assert {body_of(answer) for answer in asyncio.run(visit())} == {"page 1 of /"}
    assert len(django.asked) == 1


def test_while_one_renders_the_others_get_the_last_page(django: Django, clock: Clock) -> None:
    async def visit() -> None:
        shells = Shells(django)
        await get(shells)
        clock.now_s += FRESH_SECONDS + 0.1
        django.may_answer.clear()
        first = asyncio.create_task(get(shells))
        await asyncio.sleep(0.05)
        assert body_of(await get(shells)) == "page 1 of /"
        assert not first.done()
        django.may_answer.set()
        assert body_of(await first) == "page 2 of /"

    asyncio.run(visit())
    assert len(django.asked) == 2


def test_a_page_that_nobody_asked_for_lately_is_not_served_old(django: Django, clock: Clock) -> None:
    async def visit() -> None:
        shells = Shells(django)
        await get(shells)
        clock.now_s += STILL_GOOD_SECONDS + 60
        django.may_answer.clear()
        both = [asyncio.create_task(get(shells)) for _ in range(2)]
        await asyncio.sleep(0.05)
        django.may_answer.set()
        assert {body_of(await answer) for answer in both} == {"page 2 of /"}

    asyncio.run(visit())


@pytest.mark.parametrize("status", ["503 Service Unavailable", "500 Internal Server Error"])
def test_the_last_good_page_is_served_while_rendering_fails(django: Django, clock: Clock, status: str) -> None:
    async def visit() -> None:
        shells = Shells(django)
        await get(shells)
        django.status = status
        began_s = clock.now_s
        for age_seconds in (5, 50, LAST_GOOD_SECONDS - 1):
            clock.now_s = began_s + age_seconds
            for _ in range(10):
                assert body_of(await get(shells)) == "page 1 of /"
        # Django is asked again, but not by every visitor.
        assert len(django.asked) < 10
        clock.now_s = began_s + LAST_GOOD_SECONDS + 2
        answer = await get(shells)
        assert answer is not None
        assert answer[0] == int(status[:3])
        django.status = "200 OK"
        assert body_of(await get(shells)).startswith("page")

    asyncio.run(visit())


def test_the_last_good_page_is_served_while_rendering_hangs(
    django: Django, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "WAIT_SECONDS", 0.05)

    async def visit() -> None:
        shells = Shells(django)
        await get(shells)
        clock.now_s += 30
        django.may_answer.clear()
        assert body_of(await get(shells)) == "page 1 of /"
        # Until it is tried again, nobody waits.
        started_s = time.perf_counter()
        for _ in range(50):
            assert body_of(await get(shells)) == "page 1 of /"
        assert time.perf_counter() - started_s < 50 * shells_module.WAIT_SECONDS
        assert len(django.asked) == 2
        django.may_answer.set()
        await asyncio.sleep(0.2)
        assert body_of(await get(shells)) == "page 2 of /"

    asyncio.run(visit())


def test_without_a_last_page_django_itself_answers_when_rendering_hangs(
    django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "FIRST_WAIT_SECONDS", 0.05)

    async def visit() -> None:
        django.may_answer.clear()
        assert await get(Shells(django)) is None
        django.may_answer.set()

    asyncio.run(visit())


@pytest.mark.parametrize(
    ("path", "method", "host"),
    [
        ("/orders/", "GET", HOST),
        ("/sales/0/", "GET", HOST),
        ("/sales/7", "GET", HOST),
        ("/sales/7/x/", "GET", HOST),
        ("/sales/٧/", "GET", HOST),
        ("/en/", "GET", HOST),
        ("/", "POST", HOST),
        ("/", "OPTIONS", HOST),
        ("/", "GET", "evil.example"),
        ("/", "GET", ""),
        ("/", "GET", "a\nb"),
    ],
)
def test_other_requests_are_left_to_django(django: Django, path: str, method: str, host: str) -> None:
    assert asyncio.run(get(Shells(django), path, method=method, host=host)) is None
    assert not django.asked


def test_nothing_of_a_visitor_reaches_the_page(django: Django) -> None:
    headers = {"cookie": "sessionid=secret; csrftoken=x", "accept_language": "zh-CN", "authorization": "Bearer x"}
    asyncio.run(get(Shells(django), **headers))
    (environ,) = django.asked
    names = {name for name in environ if name.startswith("HTTP_")}
    assert names == {"HTTP_HOST"}
    assert environ["QUERY_STRING"] == ""


@pytest.mark.parametrize("more", [{"Set-Cookie": "a=b"}, {"Cache-Control": "private"}])
def test_what_is_not_for_everybody_is_not_kept(django: Django, more: dict[str, str]) -> None:
    async def visit() -> None:
        shells = Shells(django)
        django.headers.update(more)
        for _ in range(2):
            answer = await get(shells)
            assert answer is None or "Set-Cookie" not in dict(answer[1])

    asyncio.run(visit())
    assert len(django.asked) == 2


def test_a_page_that_is_gone_is_no_longer_served(django: Django, clock: Clock) -> None:
    async def visit() -> None:
        shells = Shells(django)
        await get(shells, "/sales/7/")
        django.status = "404 Not Found"
        clock.now_s += 5
        for _ in range(2):
            answer = await get(shells, "/sales/7/")
            assert answer is not None
            assert answer[0] == 404

    asyncio.run(visit())


def test_the_forms_of_a_page(django: Django) -> None:
    async def visit() -> None:
        shells = Shells(django)
        plain = await get(shells)
        zipped = await get(shells, accept_encoding="br, gzip")
        assert plain is not None
        assert zipped is not None
        headers = dict(plain[1])
        assert headers["ETag"] == '"etag1"'
        assert headers["Vary"] == "Accept-Encoding"
        assert headers["Cache-Control"] == "public, max-age=1"
        assert "X-Request-ID" not in headers
        assert int(headers["Content-Length"]) == len(plain[2])
        assert dict(zipped[1])["Content-Encoding"] == "gzip"
        assert int(dict(zipped[1])["Content-Length"]) == len(zipped[2])
        assert gzip.decompress(zipped[2]) == plain[2]
        for known in ('"etag1"', 'W/"etag1"', '"other", "etag1-gzip"'):
            answer = await get(shells, if_none_match=known)
            assert answer is not None
            assert (answer[0], answer[2]) == (304, b"")
            assert dict(answer[1])["Cache-Control"] == "public, max-age=1"
        assert body_of(await get(shells, if_none_match='"other"')) == "page 1 of /"

    asyncio.run(visit())
    assert len(django.asked) == 1


def test_the_home_page_leads_on_to_the_language_that_was_chosen(django: Django) -> None:
    async def visit() -> None:
        shells = Shells(django)
        assert body_of(await get(shells, cookie="django_language=en")) == "page 1 of /"
        django.status, django.headers = "302 Found", {"Location": "/zh-hans/", "Cache-Control": "private, no-store"}
        for _ in range(2):
            answer = await get(shells, cookie="a=b; django_language=zh-hans")
            assert answer is not None
            assert (answer[0], dict(answer[1])["Location"]) == (302, "/zh-hans/")
        for cookie in ("", "django_language=xx", 'django_language="zh-hans', "django_language"):
            assert body_of(await get(shells, cookie=cookie)) == "page 1 of /"

    asyncio.run(visit())
    assert len(django.asked) == 2
    assert django.asked[1]["HTTP_COOKIE"] == "django_language=zh-hans"


def test_without_tls_django_redirects(django: Django, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True

    async def visit() -> None:
        shells = Shells(django)
        assert await get(shells) is None
        assert await get(shells, x_forwarded_proto="http") is None
        assert body_of(await get(shells, x_forwarded_proto="https")) == "page 1 of /"
        assert await get(shells) is None

    asyncio.run(visit())
    assert django.asked[0]["HTTP_X_FORWARDED_PROTO"] == "https"


def test_the_pages_that_are_kept_are_bounded(django: Django, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shells_module, "PAGES_MAX", 5)

    async def visit() -> None:
        shells = Shells(django)
        for number in range(1, 20):
            await get(shells, f"/sales/{number}/")
        assert len(shells._kept) == 5

    asyncio.run(visit())


def test_random_addresses_take_no_thread_from_pages_that_are_known(django: Django, clock: Clock) -> None:
    """Each is rendered anew, and for each of them Django takes its time."""

    async def visit() -> None:
        shells = Shells(django)
        await get(shells)
        clock.now_s += FRESH_SECONDS + 0.1
        django.slow_path = "/products/"
        crowd = [asyncio.create_task(get(shells, f"/products/random-{number}/")) for number in range(300)]
        await asyncio.sleep(0.05)
        # Renewed as ever, and at once.
        answer = await asyncio.wait_for(get(shells), timeout=5)
        assert body_of(answer).endswith(" of /")
        assert body_of(answer) != "page 1 of /"
        django.may_answer.set()
        # Most are left to Django's own threads.
        assert sum(answer is None for answer in await asyncio.gather(*crowd)) > 200

    django.may_answer.clear()
    django.slow_path = "nothing"
    asyncio.run(visit())


def test_while_no_more_pages_can_be_rendered_the_last_good_one_is_served(
    django: Django, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(shells_module, "KNOWN_RENDERINGS_MAX", 5)

    async def visit() -> None:
        shells = Shells(django)
        paths = [f"/sales/{number}/" for number in range(1, 21)]
        first = [body_of(await get(shells, path)) for path in paths]
        clock.now_s += 30
        django.may_answer.clear()
        for _visit in range(3):
            answers = await asyncio.gather(*(get(shells, path) for path in paths))
            assert [body_of(answer) for answer in answers] == first
        assert len(django.asked) <= len(paths) + 5

    asyncio.run(visit())


def test_an_address_without_a_page_is_known_for_a_second(django: Django, clock: Clock) -> None:
    async def visit() -> None:
        shells = Shells(django)
        await get(shells, "/sales/7/")
        django.status = "404 Not Found"
        for _ in range(10):
            answer = await get(shells, "/products/none/")
            assert answer is not None
            assert answer[0] == 404
        assert len(django.asked) == 2
        django.status = "200 OK"
        clock.now_s += FRESH_SECONDS + 0.1
        assert body_of(await get(shells, "/products/none/")) == "page 3 of /products/none/"

    asyncio.run(visit())


def test_addresses_without_a_page_are_bounded_and_displace_no_page(
    django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "PAGES_MAX", 5)
    monkeypatch.setattr(shells_module, "MISSING_MAX", 5)

    async def visit() -> None:
        shells = Shells(django)
        await get(shells, "/sales/7/")
        django.status = "404 Not Found"
        for number in range(20):
            await get(shells, f"/products/none-{number}/")
        assert body_of(await get(shells, "/sales/7/")) == "page 1 of /sales/7/"
        assert len(shells._missing) == 5

    asyncio.run(visit())


def test_answers_of_the_api_are_kept_for_each_host_and_displace_no_page(
    django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can ask with any port in the host."""
    monkeypatch.setattr(shells_module, "PAGES_MAX", 5)
    monkeypatch.setattr(shells_module, "ANSWERS_MAX", 5)

    async def visit() -> None:
        shells = Shells(django)
        await get(shells, "/sales/7/")
        for port in range(1, 21):
            assert body_of(await get(shells, SALES, host=f"localhost:{port}")) == f"page {port + 1} of {SALES}"
        assert len(shells._answers) == 5
        assert body_of(await get(shells, SALES, host="localhost:20")) == f"page 21 of {SALES}"
        assert body_of(await get(shells, "/sales/7/")) == "page 1 of /sales/7/"

    asyncio.run(visit())
    assert [environ["HTTP_HOST"] for environ in django.asked[1:4]] == ["localhost:1", "localhost:2", "localhost:3"]


def test_one_rendering_for_all_clients_of_one_language(django: Django) -> None:
    async def visit() -> None:
        shells = Shells(django)
        for languages in ("zh-CN", "zh,en;q=0.9", "fr,zh-Hans"):
            assert body_of(await get(shells, SALES, accept_language=languages)) == f"page 1 of {SALES}"
        for headers in ({}, {"accept_language": "en-GB"}, {"accept_language": "zh", "cookie": "django_language=en"}):
            assert body_of(await get(shells, SALES, **headers)) == f"page 2 of {SALES}"

    asyncio.run(visit())
    assert [environ["HTTP_COOKIE"] for environ in django.asked] == ["django_language=zh-hans", "django_language=en"]


@pytest.mark.parametrize("status", ["503 Service Unavailable", "404 Not Found"])
def test_an_answer_of_the_api_says_the_time_so_no_old_one_is_served(django: Django, clock: Clock, status: str) -> None:
    async def visit() -> None:
        shells = Shells(django)
        assert body_of(await get(shells, SALES)) == f"page 1 of {SALES}"
        django.status = status
        clock.now_s += STILL_GOOD_SECONDS + 0.1
        for _ in range(2):
            assert await get(shells, SALES) is None
        assert not shells._missing

    asyncio.run(visit())
