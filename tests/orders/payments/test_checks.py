"""`check --deploy` reports a shop whose buyers cannot really pay."""

import pytest
from django.conf import LazySettings

from orders.apps import check_payments


def ids(**context: object) -> list[str | None]:
    return [message.id for message in check_payments(**context)]


@pytest.fixture(autouse=True)
def _real_shop(settings: LazySettings) -> None:
    settings.LOAD_TESTS = False
    settings.PAYMENT_PROVIDERS = []


def test_a_shop_without_providers_is_a_warning_and_the_simulated_one_an_error(settings: LazySettings) -> None:
    assert ids() == ["orders.W002"]
    settings.PAYMENT_PROVIDERS = ["simulated"]
    assert ids() == ["orders.E002"]


@pytest.mark.parametrize(
    ("secret", "webhook", "found"), [("", "w", ["orders.E003"]), ("s", "", ["orders.E003"]), ("s", "w", [])]
)
def test_stripe_needs_both_keys(settings: LazySettings, secret: str, webhook: str, found: list[str]) -> None:
    settings.PAYMENT_PROVIDERS = ["stripe"]
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET = secret, webhook
    assert ids() == found


def test_an_unknown_provider_is_an_error(settings: LazySettings) -> None:
    settings.PAYMENT_PROVIDERS = ["barter"]
    (message,) = check_payments()
    assert "barter" in message.msg


def test_load_tests_in_production_are_a_warning(settings: LazySettings) -> None:
    settings.LOAD_TESTS = True
    assert "orders.W001" in ids()
