from django.apps import AppConfig
from django.core.checks import register
from django.utils.translation import gettext_lazy as _

from shop.databases.pooler_check import check_pooler


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("Shop")

    def ready(self) -> None:
        register(check_pooler, "pooler", deploy=True)
