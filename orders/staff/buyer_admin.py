"""A person in the admin, with their orders."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from orders.life.cancelling import cancel_unpaid_of
from orders.models import with_lines
from orders.staff.read_only_admin import amount_text, may_see_orders
from shop.accounts.customer_admin import CustomerAdmin
from shop.accounts.person_admin import PersonAdmin
from shop.accounts.staff_account_admin import StaffAccountAdmin
from shop.models import Customer
from shop.staff.admin_base import once_for_each_row

# The latest ones; a link leads to all of them.
ORDERS_SHOWN = 20


class WithOrders(PersonAdmin):
    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        return ["latest_orders", *super().get_readonly_fields(request, obj)]

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not may_see_orders(request):
            return fieldsets
        person, *more = fieldsets
        return [person, (_("Orders"), {"fields": ["latest_orders"]}), *more]

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            transaction.on_commit(partial(cancel_unpaid_of, buyer_id=obj.pk))

    @admin.display(description=_("latest orders"))
    @once_for_each_row
    def latest_orders(self, person: User) -> SafeString:
        orders = list(person.orders.prefetch_related(with_lines())[: ORDERS_SHOWN + 1])
        all_url = f"{reverse('admin:orders_order_changelist')}?buyer__id__exact={person.pk}"
        shown = [(order, amount_text(order.amount_minor, order.currency)) for order in orders[:ORDERS_SHOWN]]
        context = {"orders": shown, "all_url": all_url if len(orders) > ORDERS_SHOWN else ""}
        return render_to_string("admin/auth/user/orders.html", context)


@admin.register(Customer)
class BuyerAdmin(WithOrders, CustomerAdmin):
    """A customer with their orders."""


@admin.register(User)
class StaffBuyerAdmin(WithOrders, StaffAccountAdmin):
    """Staff buy, too."""
