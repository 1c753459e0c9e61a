"""What a page may load and run, which the admin's pages say too."""

import pytest
from django.test import Client

from tests.steps.staff import ORDERS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_manager_signed_in")]


def policy_of(client: Client, path: str) -> dict[str, str]:
    answer = client.get(path)
    assert answer.status_code == 200
    parts = (part.strip().partition(" ") for part in answer["Content-Security-Policy"].split(";"))
    return {name: sources for name, _space, sources in parts}


def test_pages_of_the_admin_load_from_the_shop_alone_and_are_in_no_frame(client: Client) -> None:
    for path in ("/admin/", ORDERS):
        policy = policy_of(client, path)
        assert policy["default-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
        # The theme needs it.
        assert policy["script-src"] == "'self' 'unsafe-inline' 'unsafe-eval'"
        assert "camera=()" in client.get(path)["Permissions-Policy"]


def test_no_other_page_runs_inline_scripts(client: Client) -> None:
    assert "unsafe" not in str(policy_of(client, "/accounts/"))
