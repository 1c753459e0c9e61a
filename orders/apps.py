from django.apps import AppConfig
from django.core.checks import register
from django.utils.translation import gettext_lazy as _

from orders.checks import check_payments


class OrdersConfig(AppConfig):
    name = "orders"
    verbose_name = _("Orders")

    def ready(self) -> None:
        register(check_payments, "payments", deploy=True)
