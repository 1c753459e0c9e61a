"""An address of the API without its last slash: the call arrives at the right one, with its method and its body."""

from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from seckill.models import SaleItem
from tests.shop.http.schema_client import PATHS_AND_METHODS
from tests.steps.cast import PassFor

VALUES = dict.fromkeys(("id", "sale_id", "item_id"), "7")
VALUES |= dict.fromkeys(("number", "reservation_id"), str(UUID(int=7)))
VALUES |= {"slug": "tea", "provider": "simulated"}


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(("path", "method"), PATHS_AND_METHODS)
def test_each_call_keeps_its_method_and_its_query(
    path: str, method: str, debug: bool, settings: LazySettings, db: None
) -> None:
    settings.DEBUG = debug
    address = path.format(**VALUES)
    answer = Client(enforce_csrf_checks=True).generic(method, f"{address.rstrip('/')}?page=2", "{}")
    assert (answer.status_code, answer["Location"]) == (308, f"{address}?page=2")


def test_pages_are_redirected_as_before_and_unknown_addresses_are_not(db: None) -> None:
    page = Client().get("/search?q=tea")
    assert (page.status_code, page["Location"]) == (301, "/search/?q=tea")
    unknown = Client().post("/api/v1/nothing", {})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_the_front_door_leads_to_the_right_address_too(
    live_shop: str, item: SaleItem, buyer: User, pass_for: PassFor
) -> None:
    headers = {"Authorization": f"Pass {pass_for(buyer, item)}", "Content-Type": "application/json"}
    path, answers = f"/api/v1/sale-items/{item.pk}/reservations", []
    while path:
        with closing(HTTPConnection(urlsplit(live_shop).netloc)) as connection:
            connection.request("POST", path, b'{"units": 1}', headers)
            answer = connection.getresponse()
            answers.append(answer.status)
            path = answer.headers["Location"] if answer.status == 308 else ""
    assert answers == [308, 201]
