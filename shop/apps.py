from django.apps import AppConfig
from django.core.checks import register
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import storages
from django.utils.translation import gettext_lazy as _

from shop import deploy_checks
from shop.databases.pooler_check import check_pooler


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = _("Shop")

    def ready(self) -> None:
        try:
            storages["default"]
        except (ImportError, ImproperlyConfigured, TypeError) as error:
            raise ImproperlyConfigured(f"MEDIA_STORAGE with MEDIA_STORAGE_OPTIONS is no storage: {error}") from None
        register(check_pooler, "pooler", deploy=True)
        register(deploy_checks.check_addresses, "addresses", deploy=True)
        register(deploy_checks.check_mail, "mail", deploy=True)
        register(deploy_checks.check_servers, "servers", deploy=True)
        register(deploy_checks.check_tables, "tables", deploy=True)
        register(deploy_checks.check_files, "files", deploy=True)
