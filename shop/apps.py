from django.apps import AppConfig
from django.core.checks import Tags, register
from django.utils.translation import gettext_lazy as _

from shop.databases.half_migrated import check_half_migrated
from shop.databases.pooler_check import check_pooler


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("Shop")

    def ready(self) -> None:
        register(check_half_migrated, Tags.database)
        register(check_pooler, "pooler", deploy=True)
