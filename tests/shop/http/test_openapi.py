"""docs/openapi.yaml is the API: it is what the code says, and the code keeps to it under generated input."""

from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from hypothesis import HealthCheck, settings
from knox.models import get_token_model
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import positive_data_acceptance

from seckill.models import SaleItem
from shop.wsgi import application
from tests.shop.http.schema_client import PATHS_AND_METHODS
from tests.steps.operating import ROOT, run_command

COMMITTED = ROOT / "docs" / "openapi.yaml"

SETTINGS = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_committed_schema_is_what_the_code_says() -> None:
    made = run_command("spectacular", "--validate", "--fail-on-warn")
    assert made == COMMITTED.read_text(), "run: python manage.py spectacular --file docs/openapi.yaml"


@pytest.fixture(scope="module")
def api_schema() -> Any:
    return schemathesis.openapi.from_wsgi("/api/schema/", application)


@pytest.mark.slow
# Schemathesis's own decorator would make the cases of all calls in each process that collects the tests.
@pytest.mark.parametrize(("path", "method"), PATHS_AND_METHODS)
def test_generated_calls_never_break_the_contract(
    path: str, method: str, api_schema: Any, buyer: User, item: SaleItem
) -> None:
    _, token = get_token_model().objects.create(user=buyer)
    # Without it, Schemathesis asks a WSGI application for compressed answers and does not unpack them.
    headers = {"Accept-Encoding": "identity"}
    if not path.endswith("/reservations/"):
        headers["Authorization"] = f"Bearer {token}"

    def call(case: Any) -> None:
        response = case.call(headers=headers)
        assert response.status_code < 500 or response.status_code == 503
        # The schema cannot say that a name must not hold a NUL or be all blanks, so data may fit it and still be
        # refused.
        case.validate_response(response, headers=headers, excluded_checks=[positive_data_acceptance])

    build_operation_test(
        config=api_schema.config,
        operation=api_schema[path][method],
        test_func=call,
        given_kwargs={},
        feedback=FeedbackSources(),
        explicit_settings=SETTINGS,
    )()
