"""Pages say what they may do in a browser; answers of the API may do nothing, and say no more."""

import pytest
from django.test import Client

from seckill.models import SaleItem
from shop.http.page_policies import JSON_POLICY, OF_PAGES
from tests.steps.staff import ORDERS


def test_an_answer_of_the_api_may_do_nothing(client: Client, item: SaleItem) -> None:
    for path in ("/api/v1/sales/", f"/api/v1/sale-items/{item.pk}/live/", "/api/v1/me/", "/api/v1/nothing/"):
        answer = client.get(path)
        assert answer["Content-Security-Policy"] == JSON_POLICY, path
        assert answer["X-Content-Type-Options"] == "nosniff", path
        assert not set(OF_PAGES) & set(answer.headers), path
    # A browser replaces what it has kept by the headers of a 304.
    path = "/api/v1/sales/"
    unchanged = client.get(path, headers={"if-none-match": client.get(path)["ETag"]})
    assert (unchanged.status_code, unchanged["Content-Security-Policy"]) == (304, JSON_POLICY)


def test_a_page_has_the_policies_of_pages(client: Client, db: None) -> None:
    for path in ("/", "/api/docs/", "/accounts/login/", "/nothing/"):
        answer = client.get(path)
        assert "default-src 'self'" in answer["Content-Security-Policy"], path
        assert "camera=()" in answer["Permissions-Policy"], path
        assert set(OF_PAGES) <= set(answer.headers), path


def test_no_browser_keeps_a_page_that_was_made_for_one_visitor(as_buyer: Client) -> None:
    for path in ("/accounts/email/", "/accounts/sessions/", "/accounts/2fa/", "/orders/"):
        answer = as_buyer.get(path)
        assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (200, True), path
    assert "no-store" not in as_buyer.get("/")["Cache-Control"]


def policy_of(client: Client, path: str) -> dict[str, str]:
    answer = client.get(path)
    assert answer.status_code == 200
    assert "camera=()" in answer["Permissions-Policy"]
    parts = (part.strip().partition(" ") for part in answer["Content-Security-Policy"].split(";"))
    return {name: sources for name, _space, sources in parts}


@pytest.mark.usefixtures("_manager_signed_in")
def test_pages_of_the_admin_load_from_the_shop_alone_and_are_in_no_frame(client: Client) -> None:
    policy = policy_of(client, ORDERS)
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    # The theme needs it, and no other page does.
    assert policy["script-src"] == "'self' 'unsafe-inline' 'unsafe-eval'"
    assert "unsafe" not in str(policy_of(client, "/accounts/"))
