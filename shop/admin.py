from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from shop.accounts.person_admin import RIGHTS, PersonAdmin, log_rights
from shop.staff.admin_base import ModelAdmin
from shop.staff.category_admin import CategoryAdmin, TaxRateAdmin
from shop.staff.journal_admin import StockChangeAdmin
from shop.staff.product_admin import ProductAdmin
from shop.staff.stock_admin import VariantAdmin

__all__ = ["CategoryAdmin", "ProductAdmin", "StockChangeAdmin", "TaxRateAdmin", "VariantAdmin"]

# Registered again below, with the look of the other pages.
admin.site.unregister([User, Group])
# Not for staff: confirmed addresses, second factors and sessions belong to their user alone.
admin.site.unregister([EmailAddress, Authenticator, UserSession])

admin.site.register(User, PersonAdmin)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        log_rights(request, changed=RIGHTS.intersection(form.changed_data), group=form.instance.pk)
