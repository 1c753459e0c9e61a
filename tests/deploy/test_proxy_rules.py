"""What nginx and HAProxy do with the files of `deploy/`, in front of web servers that count."""

import json
import time
from itertools import product

import pytest
from django.http import parse_cookie

from shop.http.problems import OUTAGE, problem
from shop.http.public_answers import CACHE_CONTROL
from tests.deploy.conftest import Front
from tests.processes import wait_until

LIVE = "/api/v1/sales/7/live/"
RESERVATIONS = "/api/v1/sale-items/7/reservations/"
AS_LIVE = {"ETag": '"0123"', "Cache-Control": "no-store", "Vary": "Accept-Language"}
ASKS_FOR_NEWS = {"If-None-Match": '"0123"'}

HOT = [
    ("GET", "/api/v1/sales/6/live/"),
    ("GET", "/api/v1/sale-items/7/live/"),
    ("POST", RESERVATIONS),
    ("POST", "/api/v1/sale-items/7/passes/"),
    ("GET", "/api/v1/reservations/0b8c2f5e-9f8a-4f6e-8f63-7f9a7c9f5d11/"),
]
OTHERS = [
    ("GET", "/"),
    ("GET", "/zh-hans/"),
    ("GET", "/sales/7/"),
    ("GET", "/api/v1/sales/"),
    ("GET", "/api/v1/me/"),
    ("POST", "/api/v1/orders/0b8c2f5e-9f8a-4f6e-8f63-7f9a7c9f5d11/pay/"),
    ("POST", "/api/v1/payments/stripe/webhook/"),
    ("POST", "/sale-items/7/reserve/"),
    ("GET", "/admin/"),
]


def test_the_crowd_and_the_others_have_web_servers_of_their_own(front: Front) -> None:
    for method, path in HOT:
        _response, body = front.proxy.ask(path, method=method, body=b"{}" if method == "POST" else None)
        assert json.loads(body)["stub"] == "hot", path
    for method, path in OTHERS:
        _response, body = front.proxy.ask(path, method=method, body=b"{}" if method == "POST" else None)
        assert json.loads(body)["stub"] == "pages", path


def test_figures_are_kept_for_those_who_ask_for_news(front: Front) -> None:
    front.hot.answers[LIVE] = (200, AS_LIVE)
    statuses = [front.proxy.ask(LIVE, headers=ASKS_FOR_NEWS)[0].status for _ in range(30)]
    # An answer that the proxy has to fetch may be a whole one: it cannot make a 304 of it yet.
    assert set(statuses) <= {200, 304}
    assert statuses.count(200) <= front.hot.count(LIVE) < 15
    # And they are the same for everybody, so no cookie and no language makes another one.
    known = front.hot.count(LIVE)
    for number in range(30):
        front.proxy.ask(LIVE, headers={**ASKS_FOR_NEWS, "Cookie": f"sessionid={number}"})
    assert front.hot.count(LIVE) < known + 15


def test_a_call_for_the_clock_reaches_the_shop(front: Front) -> None:
    front.hot.answers[LIVE] = (200, AS_LIVE)
    front.proxy.ask(LIVE, headers=ASKS_FOR_NEWS)
    before = front.hot.count(LIVE)
    answers = [front.proxy.ask(LIVE) for _ in range(10)]
    assert front.hot.count(LIVE) == before + 10
    assert {response.headers["Cache-Control"] for response, _body in answers} == {"no-store"}
    # Nothing is kept for a query that the shop does not know.
    for _ in range(5):
        front.proxy.ask(f"{LIVE}?other", headers=ASKS_FOR_NEWS)
    assert front.hot.count(LIVE) == before + 15


def test_figures_that_cannot_be_had_are_not_kept(front: Front) -> None:
    path = "/api/v1/sales/8/live/"
    front.hot.answers[path] = (404, {"Cache-Control": "no-store"})
    for _ in range(5):
        assert front.proxy.ask(path, headers=ASKS_FOR_NEWS)[0].status == 404
    assert front.hot.count(path) == 5


def test_a_public_page_is_kept_for_a_second(front: Front) -> None:
    for path in ("/", "/zh-hans/", "/sales/7/", "/zh-hans/products/longjing/"):
        front.pages.answers[path] = (200, {"Cache-Control": CACHE_CONTROL, "Vary": "Accept-Encoding"})
        for number in range(30):
            front.proxy.ask(path, headers={"Cookie": f"sessionid={number}"})
        known = front.pages.count(path)
        assert 1 <= known < 15, path
        # The shop leads those without TLS to it.
        front.proxy.ask(path, plain=True)
        assert front.pages.count(path) == known + 1, path


def test_a_body_that_the_shop_would_refuse_ends_at_nginx(front: Front) -> None:
    for path, megabytes, status in (("/cart/", 2, 413), ("/admin/shop/", 2, 200), ("/admin/shop/", 12, 413)):
        response, _body = front.proxy.ask(path, method="POST", body=b"x" * megabytes * 2**20)
        assert response.status == (status if front.kind == "nginx" else 200), path


def test_nginx_shows_the_last_public_page_while_no_web_server_answers(failing_front: Front) -> None:
    failing_front.pages.answers["/"] = (200, {"Cache-Control": CACHE_CONTROL})
    assert failing_front.proxy.ask("/")[0].status == 200
    failing_front.pages.silent["/"] = failing_front.hot.silent["/"] = 9
    # It is kept for a second, of which nginx counts whole ones.
    time.sleep(2.1)
    assert failing_front.proxy.ask("/")[0].status == {"nginx": 200, "haproxy": 503}[failing_front.kind]


def test_the_home_page_of_who_chose_a_language_is_asked_for(front: Front) -> None:
    front.pages.answers["/"] = (200, {"Cache-Control": CACHE_CONTROL})
    front.proxy.ask("/")
    front.pages.answers["/"] = (302, {"Location": "/zh-hans/", "Cache-Control": "private, no-store"})
    response, _body = front.proxy.ask("/", headers={"Cookie": "django_language=zh-hans"})
    assert (response.status, response.headers["Location"]) == (302, "/zh-hans/")


def test_an_answer_that_the_shop_does_not_call_public_is_never_kept(front: Front) -> None:
    for path in ("/cart/", "/orders/", "/api/v1/me/", "/accounts/", "/sales/8/"):
        for _ in range(3):
            front.proxy.ask(path)
        assert front.pages.count(path) == 3, path


def test_a_refusal_passes_as_it_is(front: Front) -> None:
    for status in (409, 410, 429, 503):
        front.hot.answers[RESERVATIONS] = (status, {"Retry-After": "7", "Content-Type": "application/problem+json"})
        before = front.hot.count(RESERVATIONS)
        for _ in range(3):
            response, body = front.proxy.ask(RESERVATIONS, method="POST", body=b'{"units": 1}')
            assert (response.status, response.headers["Retry-After"]) == (status, "7")
            assert json.loads(body)["stub"] == "hot"
        assert front.hot.count(RESERVATIONS) == before + 3, status


def test_a_reservation_without_an_answer_is_repeated(failing_front: Front) -> None:
    """By nginx at the other group; by HAProxy at another server of the group, or at the same one if it has no other."""
    failing_front.hot.silent[RESERVATIONS] = 1
    response, body = failing_front.proxy.ask(
        RESERVATIONS, method="POST", body=b'{"units": 2}', headers={"Authorization": "Pass of-a-test"}
    )
    assert response.status == 200
    answered = failing_front.pages if failing_front.kind == "nginx" else failing_front.hot
    assert json.loads(body)["stub"] == answered.name
    assert answered.headers_of(RESERVATIONS)["authorization"] == "Pass of-a-test"
    assert answered.headers_of(RESERVATIONS)["content-length"] == "12"
    assert failing_front.hot.count(RESERVATIONS) + failing_front.pages.count(RESERVATIONS) == 2


def test_no_other_call_is_repeated(failing_front: Front) -> None:
    for path in ("/api/v1/sale-items/7/passes/", "/api/v1/orders/7/pay/", "/cart/add/"):
        failing_front.hot.silent[path] = failing_front.pages.silent[path] = 9
        response, _body = failing_front.proxy.ask(path, method="POST", body=b"{}")
        assert response.status in (502, 503), path
        assert failing_front.hot.count(path) + failing_front.pages.count(path) == 1, path


API = [LIVE, RESERVATIONS, "/api/v1/sale-items/7/passes/", "/api/v1/me/", "/api/v1/orders/7/pay/", "/api/v1/products/"]


def assert_says_unavailable(front: Front, path: str, *, method: str) -> None:
    response, body = front.proxy.ask(path, method=method, body=b"{}" if method == "POST" else None)
    expected = problem(**OUTAGE)
    assert response.status == 503, path
    for name in ("Retry-After", "Cache-Control"):
        assert response.headers[name] == expected[name], path
    if path in API:
        assert response.headers["Content-Type"] == expected["Content-Type"], path
        assert json.loads(body) == json.loads(expected.content)
    else:
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8", path
        assert body.decode() == OUTAGE["detail"]


def test_where_no_web_server_answers_the_api_and_pages_say_unavailable(failing_front: Front) -> None:
    for method, path in product(("GET", "POST"), (*API, "/cart/", "/sales/9/")):
        failing_front.hot.silent[path] = failing_front.pages.silent[path] = 9
        assert_says_unavailable(failing_front, path, method=method)


def test_the_addresses_of_clients_are_appended_and_the_protocol_is_overwritten(front: Front) -> None:
    lies = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "gopher", "X_Forwarded_Proto": "gopher"}
    lies["X-Request-ID"] = "of the client"
    front.proxy.ask("/cart/", headers=lies)
    headers = front.pages.headers_of("/cart/")
    assert headers["x-forwarded-proto"] == "https"
    assert headers["host"] == "shop.example"
    assert len(headers["x-request-id"]) >= 32
    # TRUSTED_PROXIES=1 reads the last one.
    assert headers["x-forwarded-for"] == "192.0.2.1, 127.0.0.1"
    front.proxy.ask("/cart/", headers=lies, plain=True)
    assert front.pages.headers_of("/cart/")["x-forwarded-proto"] == "http"


def test_a_cookie_that_is_not_ascii_costs_nobody_the_others(front: Front) -> None:
    own = ["sessionid=abc", "csrftoken=x,y"]
    for odd, place in product(("theme=caf\xe9", "\xe9=\xff", "a=\xe9; b=\xe8; c=\xe7"), range(3)):
        front.proxy.ask("/cart/", headers={"Cookie": "; ".join([*own[:place], odd, *own[place:]])})
        cookies = front.pages.headers_of("/cart/")["cookie"]
        assert cookies.isascii()
        known = parse_cookie(cookies)
        assert (known["sessionid"], known["csrftoken"]) == ("abc", "x,y")
    for sent in ("; ".join(own), ""):
        front.proxy.ask("/cart/", headers={"Cookie": sent} if sent else {})
        assert front.pages.headers_of("/cart/").get("cookie", "") == sent


def test_an_address_that_is_not_ascii_hides_no_address_of_a_proxy(front: Front) -> None:
    """Of two fields the web server would drop the one that a CDN has appended to, and believe the client's."""
    response, _body = front.proxy.ask("/cart/", headers={"X-Forwarded-For": "\xe9, 192.0.2.1"})
    assert response.status == {"nginx": 200, "haproxy": 400}[front.kind]
    if front.kind == "nginx":
        # In one field, of which the web server has nothing: it refuses the call.
        assert front.pages.headers_of("/cart/")["x-forwarded-for"] == "\xe9, 192.0.2.1, 127.0.0.1"


def test_the_admin_is_for_the_addresses_of_the_list(front: Front) -> None:
    # The headers of the client do not count.
    lies = {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"}
    for path in ("/admin/", "/admin/login/?next=/admin/", "/%61dmin/", "/admin%2Fauth/user/"):
        assert front.proxy.ask(path)[0].status == 200, path
        before = len(front.pages.calls)
        assert front.proxy.ask(path, client="127.0.0.2", headers=lies)[0].status == 403, path
        assert len(front.pages.calls) == before
    for other in ("/", "/administration/", "/accounts/login/"):
        assert front.proxy.ask(other, client="127.0.0.2")[0].status == 200


def test_figures_for_machines_are_hidden_and_health_is_not(front: Front) -> None:
    for path in ("/metrics", "/readyz", "/%6detrics", "/read%79z", "/metrics?all=1"):
        assert front.proxy.ask(path)[0].status == 404, path
    assert front.pages.calls == []
    assert front.proxy.ask("/healthz")[0].status == 200


def test_a_path_that_cannot_be_decoded_passes_no_rule(front: Front) -> None:
    for path in ("/admin/%zz", "/admin/%", "/admin/%6", "/admin/%6g/", "/%61dmin/%g1?next=/"):
        assert front.proxy.ask(path, client="127.0.0.2")[0].status == 400, path
    assert front.pages.calls == []
    for path in ("/search/?q=100%", "/products/%E8%8C%B6/"):
        assert front.proxy.ask(path)[0].status == 200, path


def test_a_server_that_cannot_be_reached_is_stood_in_for(failing_front: Front) -> None:
    failing_front.hot.close()
    for path in (RESERVATIONS, "/api/v1/sale-items/7/passes/"):
        assert json.loads(failing_front.proxy.ask(path, method="POST", body=b"{}")[1])["stub"] == "pages"


@pytest.mark.parametrize("failing_front", ["haproxy"], indirect=True)
def test_a_server_that_is_draining_gets_no_new_calls_and_where_none_is_left_the_shop_is_unavailable(
    failing_front: Front,
) -> None:
    def reserve() -> str:
        return str(json.loads(failing_front.proxy.ask(RESERVATIONS, method="POST", body=b"{}")[1])["stub"])

    wait_until(lambda: reserve() == "hot", seconds_max=20)
    failing_front.hot.answers["/healthz"] = (503, {})
    wait_until(lambda: reserve() == "pages", seconds_max=20)
    before = len(failing_front.hot.calls)
    for _ in range(10):
        assert reserve() == "pages"
    assert len(failing_front.hot.calls) == before

    failing_front.pages.answers["/healthz"] = (503, {})
    for path in (*API, "/cart/", "/sales/9/"):
        # Each group of servers has its own checks.
        wait_until(lambda path=path: failing_front.proxy.ask(path)[0].status == 503, seconds_max=20)  # type: ignore[misc]
        assert_says_unavailable(failing_front, path, method="GET")
