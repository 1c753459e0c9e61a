from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SeckillConfig(AppConfig):
    name = "seckill"
    verbose_name = _("Flash sales")
