"""Everything under /api/ answers in problem+json, Django's own errors too."""

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from shop import health
from shop.http import problems


@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v1/nothing/", "/api/v1/sale-items/x/live/", "/api/v2/"])
def test_an_unknown_address_is_a_problem(path: str, db: None) -> None:
    answer = Client().get(path)
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"


def test_a_fault_of_ours_says_nothing_of_its_cause() -> None:
    answer = problems.server_error(RequestFactory().get("/api/v1/orders/"))
    assert answer.status_code == 500
    assert answer["Content-Type"] == "application/problem+json"


def test_django_s_csrf_failure_is_a_problem_too(buyer: User) -> None:
    answer = problems.csrf_failure(RequestFactory().post("/api/v1/orders/"), reason="none")
    assert answer.status_code == 403
    assert answer["Content-Type"] == "application/problem+json"


def test_pages_get_a_page(db: None) -> None:
    answer = Client().get("/nothing-here/")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_health(db: None) -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}
    answer = Client().get("/readyz")
    assert answer.status_code == 200, answer.content
    assert set(answer.json()) == {"status", "database", "reservation_store", "cache", "broker"}


def test_readiness_names_what_is_missing_but_no_address(db: None) -> None:
    def broken() -> None:
        raise ConnectionError("redis://secret@host")

    assert health.result_of(broken) == "ConnectionError"
