"""Pages say what they may do in a browser; answers of the API may do nothing, and say no more."""

import pytest
from django.test import Client

from seckill.models import SaleItem
from shop.http.page_policies import JSON_POLICY, OF_PAGES
from tests.steps.staff import ORDERS


@pytest.mark.parametrize("path", ["/api/v1/sales/", "/api/v1/sale-items/{}/live/", "/api/v1/me/", "/api/v1/nothing/"])
def test_an_answer_of_the_api_may_do_nothing(client: Client, item: SaleItem, path: str) -> None:
    answer = client.get(path.format(item.pk))
    assert answer["Content-Security-Policy"] == JSON_POLICY
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert not set(OF_PAGES) & set(answer.headers)


def test_an_unchanged_answer_has_the_same_policy(client: Client, item: SaleItem) -> None:
    """A browser replaces what it has kept by the headers of a 304."""
    path = "/api/v1/sales/"
    unchanged = client.get(path, headers={"if-none-match": client.get(path)["ETag"]})
    assert (unchanged.status_code, unchanged["Content-Security-Policy"]) == (304, JSON_POLICY)


@pytest.mark.parametrize("path", ["/", "/api/docs/", "/accounts/login/", "/nothing/"])
def test_a_page_has_the_policies_of_pages(client: Client, db: None, path: str) -> None:
    answer = client.get(path)
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert "camera=()" in answer["Permissions-Policy"]
    assert set(OF_PAGES) <= set(answer.headers)


def policy_of(client: Client, path: str) -> dict[str, str]:
    answer = client.get(path)
    assert answer.status_code == 200
    parts = (part.strip().partition(" ") for part in answer["Content-Security-Policy"].split(";"))
    return {name: sources for name, _space, sources in parts}


@pytest.mark.usefixtures("_manager_signed_in")
def test_pages_of_the_admin_load_from_the_shop_alone_and_are_in_no_frame(client: Client) -> None:
    for path in ("/admin/", ORDERS):
        policy = policy_of(client, path)
        assert policy["default-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
        # The theme needs it.
        assert policy["script-src"] == "'self' 'unsafe-inline' 'unsafe-eval'"
        assert "camera=()" in client.get(path)["Permissions-Policy"]


@pytest.mark.usefixtures("_manager_signed_in")
def test_no_other_page_runs_inline_scripts(client: Client) -> None:
    assert "unsafe" not in str(policy_of(client, "/accounts/"))
