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
from web.shells import FRESH_SECONDS, LAST_GOOD_SECONDS, STILL_GOOD_SECONDS, UNASKED_SECONDS, Shells, asked_of
from web.wsgi_request import RawAnswer

HOST = "localhost:8000"
Visit = asyncio.Task[RawAnswer | None]
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
def django() -> Django:
    return Django()


class Visitors:
    """They ask the same shells, in an event loop that turns while one of them is waited for."""

    def __init__(self, django: Django) -> None:
        self.shells = Shells(django)
        self.loop = asyncio.new_event_loop()

    def start(self, path: str = "/", *, method: str = "GET", host: str = HOST, **headers: str) -> Visit:
        named = {name.replace("_", "-"): value for name, value in {"host": host, **headers}.items()}
        asked = asked_of(Scope(method, path, headers=named), path, named)
        return self.loop.create_task(self.shells.answer(asked) if asked else nothing())

    def wait(self, *visits: Visit) -> list[RawAnswer | None]:
        return self.loop.run_until_complete(asyncio.wait_for(asyncio.gather(*visits), timeout=20))

    def let_pass(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def get(self, path: str = "/", **more: str) -> RawAnswer | None:
        return self.wait(self.start(path, **more))[0]

    def page(self, path: str = "/", **more: str) -> str:
        return body_of(self.get(path, **more))

    def status(self, path: str = "/", **more: str) -> int:
        answer = self.get(path, **more)
        return answer[0] if answer else 0


async def nothing() -> None:
    """What is asked for is no public page."""


@pytest.fixture
def visitors(django: Django) -> Iterator[Visitors]:
    visitors = Visitors(django)
    yield visitors
    django.may_answer.set()
    visitors.loop.run_until_complete(visitors.loop.shutdown_default_executor())
    visitors.loop.close()


def body_of(answer: RawAnswer | None) -> str:
    assert answer is not None
    return answer[2].decode()


def test_a_page_is_rendered_once_a_second(visitors: Visitors, django: Django, clock: Clock) -> None:
    assert {visitors.page() for _ in range(100)} == {"page 1 of /"}
    clock.now_s += FRESH_SECONDS - 0.01
    assert visitors.page() == "page 1 of /"
    clock.now_s += 0.02
    assert visitors.page() == "page 2 of /"
    assert visitors.page("/zh-hans/sales/7/") == "page 3 of /zh-hans/sales/7/"
    assert len(django.asked) == 3


def test_a_crowd_waits_for_one_rendering_or_gets_the_last_page_if_it_is_not_old(
    visitors: Visitors, django: Django, clock: Clock
) -> None:
    def while_one_renders(count: int) -> list[Visit]:
        django.may_answer.clear()
        crowd = [visitors.start() for _ in range(count)]
        visitors.let_pass(0.05)
        return crowd

    crowd = while_one_renders(50)
    django.may_answer.set()
    assert {body_of(answer) for answer in visitors.wait(*crowd)} == {"page 1 of /"}
    clock.now_s += FRESH_SECONDS + 0.1
    [first] = while_one_renders(1)
    assert visitors.page() == "page 1 of /"
    assert not first.done()
    django.may_answer.set()
    assert body_of(visitors.wait(first)[0]) == "page 2 of /"
    # It was not asked for lately.
    clock.now_s += STILL_GOOD_SECONDS + 60
    both = while_one_renders(2)
    django.may_answer.set()
    assert {body_of(answer) for answer in visitors.wait(*both)} == {"page 3 of /"}
    assert len(django.asked) == 3


@pytest.mark.parametrize("status", ["503 Service Unavailable", "500 Internal Server Error"])
def test_the_last_good_page_is_served_while_rendering_fails(
    visitors: Visitors, django: Django, clock: Clock, status: str
) -> None:
    visitors.get()
    django.status = status
    began_s = clock.now_s
    for age_seconds in (5, 50, LAST_GOOD_SECONDS - 1):
        clock.now_s = began_s + age_seconds
        assert {visitors.page() for _ in range(10)} == {"page 1 of /"}
    # Django is asked again, but not by every visitor.
    assert len(django.asked) < 10
    clock.now_s = began_s + LAST_GOOD_SECONDS + 2
    assert visitors.status() == int(status[:3])
    django.status = "200 OK"
    assert visitors.page().startswith("page")


def test_the_last_good_page_is_served_while_rendering_hangs(
    visitors: Visitors, django: Django, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "WAIT_SECONDS", 0.05)
    visitors.get()
    clock.now_s += 30
    django.may_answer.clear()
    assert visitors.page() == "page 1 of /"
    # Until it is tried again, nobody waits.
    started_s = time.perf_counter()
    assert {visitors.page() for _ in range(50)} == {"page 1 of /"}
    assert time.perf_counter() - started_s < 50 * shells_module.WAIT_SECONDS
    assert len(django.asked) == 2
    django.may_answer.set()
    visitors.let_pass(0.2)
    assert visitors.page() == "page 2 of /"


def test_the_first_visitor_in_a_while_waits_longer_for_a_page_that_is_no_longer_true(
    visitors: Visitors, django: Django, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "WAIT_SECONDS", 0.05)
    visitors.page()
    clock.now_s += FRESH_SECONDS + UNASKED_SECONDS
    django.may_answer.clear()
    visit = visitors.start()
    visitors.let_pass(0.2)
    django.may_answer.set()
    assert body_of(*visitors.wait(visit)) == "page 2 of /"


def test_other_requests_are_left_to_django(visitors: Visitors, django: Django) -> None:
    for path in ("/orders/", "/sales/0/", "/sales/7", "/sales/7/x/", "/sales/٧/", "/en/"):
        assert visitors.get(path) is None, path
    for host in ("evil.example", "", f"localhost:{'0' * 1000}", "a\nb"):
        assert visitors.get(host=host) is None, host
    for method in ("POST", "OPTIONS"):
        assert visitors.get(method=method) is None, method
    assert not django.asked


def test_nothing_of_a_visitor_reaches_the_page(visitors: Visitors, django: Django) -> None:
    visitors.get(cookie="sessionid=secret; csrftoken=x", accept_language="zh-CN", authorization="Bearer x")
    (environ,) = django.asked
    assert {name for name in environ if name.startswith("HTTP_")} == {"HTTP_HOST"}
    assert environ["QUERY_STRING"] == ""


def test_an_answer_that_is_not_for_everybody_is_not_kept(visitors: Visitors, django: Django) -> None:
    public = django.headers
    private, marked = {"Cache-Control": "private"}, {"Set-Cookie": "a=b"}
    for status, more in (("200 OK", private), ("200 OK", marked), ("404 Not Found", marked)):
        django.status, django.headers = status, public | more
        for _ in range(2):
            answer = visitors.get()
            assert answer is None or "Set-Cookie" not in dict(answer[1])
    assert len(django.asked) == 6


def test_a_page_that_is_gone_is_no_longer_served_and_a_missing_one_is_known_for_a_second(
    visitors: Visitors, django: Django, clock: Clock
) -> None:
    visitors.get("/sales/7/")
    django.status = "404 Not Found"
    clock.now_s += 5
    for path in ("/sales/7/", "/products/none/"):
        assert {visitors.status(path) for _ in range(10)} == {404}
    assert len(django.asked) == 3
    django.status = "200 OK"
    clock.now_s += FRESH_SECONDS + 0.1
    assert visitors.page("/products/none/") == "page 4 of /products/none/"


def test_a_page_that_was_missing_is_not_said_to_be_missing_for_long_while_nobody_can_look(
    visitors: Visitors, django: Django, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "FIRST_WAIT_SECONDS", 0.1)
    django.status = "404 Not Found"
    assert visitors.status("/sales/7/") == 404
    django.may_answer.clear()
    # Without a last page.
    assert visitors.get("/sales/8/") is None
    clock.now_s += STILL_GOOD_SECONDS + 0.1
    # Then Django's own threads look.
    assert visitors.get("/sales/7/") is None
    django.may_answer.set()


def test_the_forms_of_a_page(visitors: Visitors, django: Django) -> None:
    plain = visitors.get()
    zipped = visitors.get(accept_encoding="br, gzip")
    assert plain is not None
    assert zipped is not None
    headers = dict(plain[1])
    assert headers["ETag"] == '"etag1"'
    assert headers["Vary"] == "Accept-Encoding"
    assert headers["Cache-Control"] == "public, max-age=1"
    # The web server writes the length.
    assert headers.keys().isdisjoint(["X-Request-ID", "Content-Length"])
    assert dict(zipped[1])["Content-Encoding"] == "gzip"
    assert gzip.decompress(zipped[2]) == plain[2]
    for known, tag in (('"etag1"', "etag1"), ('W/"etag1"', "etag1"), ('"other", "etag1-gzip"', "etag1-gzip")):
        answer = visitors.get(if_none_match=known)
        assert answer is not None
        assert (answer[0], answer[2]) == (304, b"")
        assert dict(answer[1])["ETag"] == f'"{tag}"'
        assert dict(answer[1])["Cache-Control"] == "public, max-age=1"
    assert visitors.page(if_none_match='"other"') == "page 1 of /"
    assert len(django.asked) == 1


def test_a_page_is_zipped_for_those_who_take_it(visitors: Visitors) -> None:
    taking = ("gzip", "gzip;q=0.5, br", "gzip;q=0.01", "br;q=0, gzip")
    for accepted in (*taking, "gzip;q=0", "br, gzip ; q=0.000 , *", "GZIP;q=0.0", "br"):
        answer = visitors.get(accept_encoding=accepted)
        assert answer is not None
        assert ("Content-Encoding" in dict(answer[1])) is (accepted in taking), accepted


def test_the_home_page_leads_on_to_the_language_that_was_chosen(visitors: Visitors, django: Django) -> None:
    assert visitors.page(cookie="django_language=en") == "page 1 of /"
    django.status, django.headers = "302 Found", {"Location": "/zh-hans/", "Cache-Control": "private, no-store"}
    for _ in range(2):
        answer = visitors.get(cookie="a=b; django_language=zh-hans")
        assert answer is not None
        assert (answer[0], dict(answer[1])["Location"]) == (302, "/zh-hans/")
    for cookie in ("", "django_language=xx", 'django_language="zh-hans', "django_language"):
        assert visitors.page(cookie=cookie) == "page 1 of /"
    assert len(django.asked) == 2
    assert django.asked[1]["HTTP_COOKIE"] == "django_language=zh-hans"


def test_without_tls_django_redirects(visitors: Visitors, django: Django, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert visitors.get() is None
    assert visitors.get(x_forwarded_proto="http") is None
    assert visitors.page(x_forwarded_proto="https") == "page 1 of /"
    assert visitors.get() is None
    assert django.asked[0]["HTTP_X_FORWARDED_PROTO"] == "https"


def test_random_addresses_take_no_thread_from_pages_that_are_known(
    visitors: Visitors, django: Django, clock: Clock
) -> None:
    """Each is rendered anew, and for each of them Django takes its time."""
    visitors.get()
    clock.now_s += FRESH_SECONDS + 0.1
    django.slow_path = "/products/"
    django.may_answer.clear()
    crowd = [visitors.start(f"/products/random-{number}/") for number in range(300)]
    visitors.let_pass(0.05)
    # Renewed as ever, and at once.
    answer = visitors.page()
    assert answer.endswith(" of /")
    assert answer != "page 1 of /"
    django.may_answer.set()
    # Most are left to Django's own threads.
    assert sum(answer is None for answer in visitors.wait(*crowd)) > 200


def test_while_no_more_pages_can_be_rendered_the_last_good_one_is_served(
    visitors: Visitors, django: Django, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shells_module, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(shells_module, "KNOWN_RENDERINGS_MAX", 5)
    paths = [f"/sales/{number}/" for number in range(1, 21)]
    first = [visitors.page(path) for path in paths]
    clock.now_s += 30
    django.may_answer.clear()
    for _visit in range(3):
        answers = visitors.wait(*(visitors.start(path) for path in paths))
        assert [body_of(answer) for answer in answers] == first
    assert len(django.asked) <= len(paths) + 5


@pytest.mark.usefixtures("clock")
def test_kept_pages_are_bounded_and_missing_pages_and_answers_displace_none(
    visitors: Visitors, django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can ask for any address, and with any port in the host."""
    for bound in ("PAGES_MAX", "MISSING_MAX", "ANSWERS_MAX"):
        monkeypatch.setattr(shells_module, bound, 5)
    shells = visitors.shells
    for number in range(1, 20):
        visitors.get(f"/sales/{number}/")
    assert len(shells._kept) == 5
    django.status = "404 Not Found"
    for number in range(20):
        visitors.get(f"/products/none-{number}/")
    assert len(shells._missing) == 5
    django.status = "200 OK"
    django.asked.clear()
    for port in range(1, 21):
        assert visitors.page(SALES, host=f"localhost:{port}") == f"page {port} of {SALES}"
    assert len(shells._answers) == 5
    assert visitors.page(SALES, host="localhost:20") == f"page 20 of {SALES}"
    assert [environ["HTTP_HOST"] for environ in django.asked[:3]] == ["localhost:1", "localhost:2", "localhost:3"]
    assert visitors.page("/sales/19/") == "page 19 of /sales/19/"
    assert len(django.asked) == 20


def test_one_rendering_for_all_clients_of_one_language(visitors: Visitors, django: Django) -> None:
    for languages in ("zh-CN", "zh,en;q=0.9", "fr,zh-Hans"):
        assert visitors.page(SALES, accept_language=languages) == f"page 1 of {SALES}"
    for headers in ({}, {"accept_language": "en-GB"}, {"accept_language": "zh", "cookie": "django_language=en"}):
        assert visitors.page(SALES, **headers) == f"page 2 of {SALES}"
    assert [environ["HTTP_COOKIE"] for environ in django.asked] == ["django_language=zh-hans", "django_language=en"]


@pytest.mark.parametrize("status", ["503 Service Unavailable", "404 Not Found"])
def test_an_answer_of_the_api_says_the_time_so_no_old_one_is_served(
    visitors: Visitors, django: Django, clock: Clock, status: str
) -> None:
    assert visitors.page(SALES) == f"page 1 of {SALES}"
    django.status = status
    clock.now_s += STILL_GOOD_SECONDS + 0.1
    assert [visitors.get(SALES) for _ in range(2)] == [None, None]
    assert not visitors.shells._missing
