"""What a visitor sees when something fails: a page of the shop, in the visitor's language, that needs nothing else."""

import pytest
from django.test import Client, RequestFactory
from django.utils import translation

from shop.accounts.session_store import SessionStore
from shop.http import problems


def test_a_missing_page_is_said_in_words(client: Client) -> None:
    pages = {"/nowhere/": "There is nothing at this address.", "/zh-hans/nowhere/": "您访问的地址不存在。"}
    for path, words in pages.items():
        answer = client.get(path)
        assert answer.status_code == 404
        assert words in answer.content.decode()


@pytest.mark.urls("tests.shop.http.broken_page")
def test_a_failure_is_said_without_database_and_session(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """No database is allowed in this test, and the session store is as good as down."""

    def down(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(SessionStore, "load", down)
    client.cookies["sessionid"] = "a-session-that-cannot-be-read"
    client.raise_request_exception = False
    answer = client.get("/broken/")
    assert answer.status_code == 500
    assert "Something went wrong on our side" in answer.content.decode()


def test_the_error_page_needs_no_middleware() -> None:
    with translation.override("zh-hans"):
        answer = problems.server_error(RequestFactory().get("/"))
    assert answer.status_code == 500
    assert "抱歉，系统出了点问题" in answer.content.decode()


def test_a_form_from_another_page_is_refused_in_words() -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/accounts/login/", {"login": "buyer"})
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()
