"""Generated calls of the whole API, over HTTP, against the shop's own web server: no fault, no broken promise.

Each as nobody and as a buyer. tests/shop/http/test_openapi.py does the same inside one process, with more examples.
"""

from collections.abc import Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import one_of
from requests import Session
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from seckill.models import SaleItem
from shop.models import ApiToken
from tests.steps.buying import order_of
from web.api_docs.examples import CALLS

# For each operation.
EXAMPLES_MAX = 10

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def objects(buyer: User, item: SaleItem) -> dict[str, Any]:
    """What the addresses of the API may name, so that calls get further than 404."""
    order = order_of(item, buyer)
    return {
        "id": item.sale_id,
        "sale_id": item.sale_id,
        "item_id": item.pk,
        "number": str(order.number),
        "reservation_id": str(order.reservation_id),
        "provider": "simulated",
        "slug": item.product.slug,
    }


def operations_of(url: str) -> Iterator[Any]:
    for found in schemathesis.openapi.from_url(f"{url}/api/schema/").get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


def call_with_generated_input(operation: Any, *, objects: dict[str, Any], callers: list[dict[str, str]]) -> None:
    """Calls with what the schema allows and what it forbids, and allowed ones about things that exist.

    Each generated call is sent with the headers of each caller: making it takes longer than answering it. The schema
    cannot say that a name must not hold a NUL or be all blanks, so data may fit it and still be refused.
    """
    names = [parameter.name for parameter in operation.path_parameters]
    cases = [operation.as_strategy(mode) for mode in GenerationMode]
    if names:
        known = {name: objects[name] for name in names}
        cases += [operation.as_strategy(mode, path_parameters=known) for mode in GenerationMode]

    @given(case=one_of(cases))
    @settings(max_examples=EXAMPLES_MAX, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def call(case: Any) -> None:
        for headers in callers:
            response = case.call(headers=headers, session=session)
            assert response.status_code < 500, f"{case.method} {response.request.url}: {response.text}"
            case.validate_response(response, headers=headers, excluded_checks=[positive_data_acceptance])

    with Session() as session:
        # One connection, and callers that do not know each other.
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        call()


def test_no_generated_call_makes_a_fault_or_breaks_the_schema(
    live_shop: str, buyer: User, objects: dict[str, Any]
) -> None:
    called = set()
    for operation in operations_of(live_shop):
        # A new token for each operation, since one of them revokes it.
        _, token = ApiToken.objects.create(user=buyer)
        nobody, signed_in = dict[str, str](), {"Authorization": f"Bearer {token}"}
        # A pass is no bearer token; a token that is sent in its place is refused as a pass.
        callers = [nobody] if operation.path.endswith("/reservations/") else [nobody, signed_in]
        call_with_generated_input(operation, objects=objects, callers=callers)
        called.add(operation.definition.raw["operationId"])
    assert called == {call.operation_id for call in CALLS}
