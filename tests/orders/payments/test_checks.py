"""`check --deploy` speaks up for a shop that would take no money."""

import pytest
from django.conf import LazySettings

from orders.checks import check_payments


def ids(**context: object) -> list[str | None]:
    return [message.id for message in check_payments(**context)]


@pytest.fixture(autouse=True)
def _real_shop(settings: LazySettings) -> None:
    settings.LOAD_TESTS = False
    settings.PAYMENT_PROVIDERS = []


def test_a_shop_whose_staff_record_payments_is_well() -> None:
    assert ids() == []


def test_the_simulated_company_is_no_way_to_be_paid(settings: LazySettings) -> None:
    settings.PAYMENT_PROVIDERS = ["simulated"]
    assert ids() == ["orders.E002"]


@pytest.mark.parametrize(
    ("secret", "webhook", "found"), [("", "w", ["orders.E003"]), ("s", "", ["orders.E003"]), ("s", "w", [])]
)
def test_stripe_needs_both_keys(settings: LazySettings, secret: str, webhook: str, found: list[str]) -> None:
    settings.PAYMENT_PROVIDERS = ["stripe"]
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET = secret, webhook
    assert ids() == found


def test_a_provider_that_does_not_exist_is_named(settings: LazySettings) -> None:
    settings.PAYMENT_PROVIDERS = ["barter"]
    (message,) = check_payments()
    assert "barter" in message.msg


def test_load_tests_are_nothing_for_a_real_shop(settings: LazySettings) -> None:
    settings.LOAD_TESTS = True
    assert ids() == ["orders.W001"]
