"""Everything under /api/ answers in problem+json, Django's own errors too."""

import ast
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.core.exceptions import RequestDataTooBig
from django.test import Client, RequestFactory
from rest_framework import exceptions

from seckill.api.views import refusal
from seckill.ledger import Reservation
from seckill.outcomes import Outcome
from seckill.passes.authentication import PASS_REFUSALS, PassRefused
from shop.http import problems
from web.application import refusal_of

ROOT = Path(__file__).resolve().parents[3]


def test_everything_below_api_is_a_problem_and_other_addresses_are_pages(db: None) -> None:
    paths = ("/api/", "/api/v1/", "/api/v1/nothing/", "/api/v1/sale-items/x/live/", "/api/v2/")
    for path in paths:
        answer = Client().get(path)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json"), path
        assert answer.json()["code"] == "not_found"
    page = Client().get("/nothing-here/")
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_django_s_own_errors_are_problems_too(rf: RequestFactory) -> None:
    fault = problems.server_error(rf.get("/api/v1/orders/"))
    forgery = problems.csrf_failure(rf.post("/api/v1/orders/"), reason="none")
    assert (fault.status_code, forgery.status_code) == (500, 403)
    assert fault["Content-Type"] == forgery["Content-Type"] == "application/problem+json"


def every_error(base: type[exceptions.APIException]) -> Iterator[exceptions.APIException]:
    """One of each kind that the API can answer with, the shop's own too."""
    for kind in base.__subclasses__():
        yield from every_error(kind)
        if kind is PassRefused:
            yield from map(PassRefused, PASS_REFUSALS)
        else:
            needs = {exceptions.MethodNotAllowed: ("PUT",), exceptions.UnsupportedMediaType: ("text/plain",)}
            yield kind(*needs.get(kind, ()))


def named_in_the_source() -> Iterator[tuple[str, str]]:
    """The codes and titles of the calls that name both."""
    for app in ("shop", "seckill", "orders", "web"):
        for path in (ROOT / app).rglob("*.py"):
            source = path.read_text()
            # Most modules have no such call, and parsing takes long.
            for node in ast.walk(ast.parse(source)) if "title=" in source else ():
                named = {word.arg: ast.unparse(word.value) for word in getattr(node, "keywords", ())}
                if {"code", "title", "status"} <= set(named):
                    yield named["code"], named["title"]


def test_a_code_has_one_title_that_names_the_problem(db: None) -> None:
    titles: dict[str, set[str]] = defaultdict(set)
    for error in every_error(exceptions.APIException):
        answer = problems.exception_handler(error, {})
        assert answer is not None
        body = json.loads(answer.content)
        assert "server error" not in body["title"], repr(error)
        assert "{" not in body["title"], repr(error)
        titles[body["code"]].add(body["title"])
    assert len(titles) > 15
    for code, title in named_in_the_source():
        if code.startswith("'") and title.startswith("_("):
            titles[ast.literal_eval(code)].add(ast.literal_eval(title[2:-1]))
    request = RequestFactory().get("/api/v1/orders/")
    for answer in (
        problems.bad_request(request, RequestDataTooBig()),
        problems.too_many_requests(request),
        problems.problem(**problems.OUTAGE),
        refusal(Reservation(Outcome.UNAVAILABLE, now_ms=0)),
        refusal_of(413)[0],
        refusal_of(408)[0],
    ):
        body = json.loads(answer.content)
        titles[body["code"]].add(body["title"])
    assert len(titles) > 30
    assert not {code: found for code, found in titles.items() if len(found) > 1}


def test_a_body_that_is_no_json_is_refused_in_the_readers_language(client: Client, db: None) -> None:
    for language, title, detail in (
        ("zh-hans", "错误的请求。", "请求体不是有效的 JSON。"),
        ("en", "Malformed request.", "The body is not valid JSON."),
    ):
        headers = {"Accept-Language": language}
        refused = client.post("/api/v1/auth/token/", "{", content_type="application/json", headers=headers).json()
        assert (refused["code"], refused["title"], refused["detail"]) == ("parse_error", title, detail)
