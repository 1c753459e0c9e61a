"""The app, and its checks of `manage.py check --deploy`."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders.payments.provider.names import chosen_providers


class OrdersConfig(AppConfig):
    name = "orders"
    verbose_name = _("Orders")

    def ready(self) -> None:
        register(check_payments, "payments", deploy=True)


def check_payments(**_context: Any) -> list[CheckMessage]:
    """Errors for providers that take no money or lack their keys; a warning if load tests are enabled."""
    found: list[CheckMessage] = []
    try:
        chosen = chosen_providers()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="orders.E001")]
    if "simulated" in chosen:
        found.append(
            Error(
                gettext(
                    "The payment provider “simulated” takes no money: every buyer who presses Pay counts as having "
                    "paid."
                ),
                hint=gettext("Choose another one in PAYMENT_PROVIDERS, or none: staff then record the payments."),
                id="orders.E002",
            )
        )
    if "stripe" in chosen and not (settings.STRIPE_SECRET_KEY and settings.STRIPE_WEBHOOK_SECRET):
        found.append(
            Error(
                gettext("Stripe is chosen, but its keys are missing: no buyer can pay."),
                hint=gettext("Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET."),
                id="orders.E003",
            )
        )
    if not chosen:
        found.append(
            Warning(
                gettext(
                    "No payment provider is chosen: buyers cannot pay in the shop, and staff record every payment by "
                    "hand."
                ),
                hint=gettext(
                    "Set PAYMENT_PROVIDERS=stripe with its two secrets; leave it if buyers pay in another way."
                ),
                id="orders.W002",
            )
        )
    if settings.LOAD_TESTS:
        found.append(
            Warning(
                gettext(
                    "LOAD_TESTS is on: anyone who can run commands can create passes for buyers that do not exist."
                ),
                hint=gettext("Unset LOAD_TESTS."),
                id="orders.W001",
            )
        )
    return found
