"""docs/openapi.yaml is the API: it is what the code says, and the shop keeps to it under generated input."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import one_of
from requests import Session
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import positive_data_acceptance

from seckill.models import SaleItem
from shop.models import ApiToken
from tests.steps.buying import order_of
from tests.steps.operating import ROOT, run_command
from web.api_docs.examples import CALLS

COMMITTED = ROOT / "docs" / "openapi.yaml"

# For each operation, beside the examples and the bounds: they find most, and these cost as much.
SETTINGS = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def test_the_committed_schema_is_what_the_code_says() -> None:
    made = run_command("spectacular", "--validate", "--fail-on-warn")
    assert made == COMMITTED.read_text(), "run: python manage.py spectacular --file docs/openapi.yaml"


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


@pytest.mark.django_db(transaction=True)
def test_no_generated_call_makes_a_fault_or_breaks_the_schema(
    live_shop: str, buyer: User, objects: dict[str, Any]
) -> None:
    """Over HTTP, against the shop's own web server."""
    called = set()
    schema = schemathesis.openapi.from_url(f"{live_shop}/api/schema/")
    for operation in operations_of(schema):
        # A new token for each operation, since one of them revokes it.
        _, token = ApiToken.objects.create(user=buyer)
        nobody, signed_in = dict[str, str](), {"Authorization": f"Bearer {token}"}
        # A pass is no bearer token; a token that is sent in its place is refused as a pass.
        callers = [nobody] if operation.path.endswith("/reservations/") else [nobody, signed_in]
        with one_connection() as session:
            call_with_examples_and_bounds(schema, operation, session=session, headers=callers[-1])
            call_with_generated_input(operation, session=session, objects=objects, callers=callers)
        called.add(operation.definition.raw["operationId"])
    assert called == {call.operation_id for call in CALLS}


def operations_of(schema: Any) -> Iterator[Any]:
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


@contextmanager
def one_connection() -> Iterator[Session]:
    """The callers do not know each other: no cookie is kept."""
    with Session() as session:
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        yield session


def call_with_examples_and_bounds(schema: Any, operation: Any, *, session: Session, headers: dict[str, str]) -> None:
    """Calls with each example of the schema, and with values at and beyond each bound of it."""

    def call(case: Any) -> None:
        require_promised_answer(case, session=session, headers=headers)

    build_operation_test(
        config=schema.config,
        operation=operation,
        test_func=call,
        given_kwargs={},
        feedback=FeedbackSources(),
        explicit_settings=settings(SETTINGS, phases=[Phase.explicit]),
    )()


def call_with_generated_input(
    operation: Any, *, session: Session, objects: dict[str, Any], callers: list[dict[str, str]]
) -> None:
    """Calls with what the schema allows and what it forbids, about any things and about things that exist.

    Each generated call is sent with the headers of each caller: making it takes longer than answering it.
    """
    names = [parameter.name for parameter in operation.path_parameters]
    cases = [operation.as_strategy(mode) for mode in GenerationMode]
    if names:
        known = {name: objects[name] for name in names}
        cases += [operation.as_strategy(mode, path_parameters=known) for mode in GenerationMode]

    @given(case=one_of(cases))
    @SETTINGS
    def call(case: Any) -> None:
        for headers in callers:
            require_promised_answer(case, session=session, headers=headers)

    call()


def require_promised_answer(case: Any, *, session: Session, headers: dict[str, str]) -> None:
    """The schema cannot say that a name must not hold a NUL or be all blanks: data may fit it and still be refused."""
    response = case.call(headers=headers, session=session)
    assert response.status_code < 500, f"{case.method} {response.request.url}: {response.text}"
    case.validate_response(response, headers=headers, excluded_checks=[positive_data_acceptance])
