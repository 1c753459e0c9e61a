from django.apps import AppConfig
from django.core.checks import register
from django.utils.translation import gettext_lazy as _

from seckill.store.durability import check_durability


class SeckillConfig(AppConfig):
    name = "seckill"
    verbose_name = _("Flash sales")

    def ready(self) -> None:
        register(check_durability, "durability", deploy=True)
