"""An address of the API without its last slash: the call arrives at the right one, with its method and its body."""

from uuid import UUID

from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from seckill.models import SaleItem
from tests.shop.http.schema_client import PATHS_AND_METHODS
from tests.steps.caller import ask
from tests.steps.cast import PassFor

VALUES = dict.fromkeys(("id", "sale_id", "item_id"), "7")
VALUES |= dict.fromkeys(("number", "reservation_id"), str(UUID(int=7)))
VALUES |= {"slug": "tea", "provider": "simulated"}


def test_each_call_keeps_its_method_and_its_query(settings: LazySettings, db: None) -> None:
    # Django's own answer to the last one would be an exception.
    for debug, calls in ((False, PATHS_AND_METHODS), (True, [("/api/v1/reminders/", "post")])):
        settings.DEBUG = debug
        for path, method in calls:
            address = path.format(**VALUES)
            answer = Client(enforce_csrf_checks=True).generic(method, f"{address.rstrip('/')}?page=2", "{}")
            assert (answer.status_code, answer["Location"]) == (308, f"{address}?page=2"), method


def test_pages_are_redirected_as_before_and_unknown_addresses_are_not(db: None) -> None:
    page = Client().get("/search?q=tea")
    assert (page.status_code, page["Location"]) == (301, "/search/?q=tea")
    unknown = Client().post("/api/v1/nothing", {})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_the_front_door_leads_to_the_right_address_too(
    live_shop: str, item: SaleItem, buyer: User, pass_for: PassFor
) -> None:
    asked = {"authorization": f"Pass {pass_for(buyer, item)}", "content_type": "application/json"}
    path = f"/api/v1/sale-items/{item.pk}/reservations"
    moved = ask(live_shop, path, method="POST", body='{"units": 1}', **asked)
    assert moved.status == 308
    assert ask(live_shop, moved.headers["Location"], method="POST", body='{"units": 1}', **asked).status == 201
