"""Staff can only read orders, payments and mails; orders change through actions alone."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.db import models
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.models import Order
from shop.prices.money import to_text
from shop.staff.admin_base import ModelAdmin, TabularInline

if TYPE_CHECKING:
    FormSet = BaseInlineFormSet[Any, Any, Any]
else:
    FormSet = BaseInlineFormSet


def may_see_orders(request: HttpRequest) -> bool:
    """Staff who may change orders may see them too, as everywhere in Django's admin."""
    return request.user.has_perm("orders.view_order") or request.user.has_perm("orders.change_order")


def may_manage_orders(request: HttpRequest) -> bool:
    """Whether the person can run the actions. An order's fields cannot be edited."""
    return request.user.has_perm("orders.change_order")


def may_ship_orders(request: HttpRequest) -> bool:
    """Whether the person can mark orders as shipped and completed, and correct tracking numbers."""
    return request.user.has_perm("orders.ship_order") or may_manage_orders(request)


class ReadOnly:
    """For staff who may see orders."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_see_orders(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, ModelAdmin):
    """A list and pages for staff who may see orders."""

    list_filter_sheet = False
    view_on_site = False

    class Media:
        css = {"all": ["orders/staff.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_manage_permission(self, request: HttpRequest) -> bool:
        return may_manage_orders(request)

    def has_ship_permission(self, request: HttpRequest) -> bool:
        return may_ship_orders(request)

    def ask_with_form(
        self,
        request: HttpRequest,
        order: Order,
        form: forms.BaseForm,
        *,
        title: str | Promise,
        sentence: str = "",
        back_url: str = "",
    ) -> HttpResponse:
        """Ask before a step about an order; `back_url` is the order's page if it is not given."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "order": order,
            "form": form,
            "title": title,
            "sentence": sentence,
            "back_url": back_url or page_of(order),
        }
        return TemplateResponse(request, "admin/orders/order/step.html", context)


class RowsOfThePage(FormSet):
    """The rows that the page has read with its order, so that they are not read again."""

    def get_queryset(self) -> Any:
        name = self.fk.remote_field.get_accessor_name()
        if isinstance(self.fk, models.OneToOneField):
            row = getattr(self.instance, name, None)
            return [row] if row else []
        return list(getattr(self.instance, name).all())


class ReadOnlyInline(ReadOnly, TabularInline):
    """Read-only rows on the page of an order, which the page reads with it (`OrderAdmin.get_object`)."""

    extra = 0
    formset = RowsOfThePage
    hide_title = True


def amount_text(minor: int, currency: str) -> str:
    """An amount as text, like "19.00 CNY". An order keeps the currency in which it was created."""
    return f"{to_text(minor=minor, currency=currency)} {currency}"


def page_of(order: Order) -> str:
    return reverse("admin:orders_order_change", args=[order.pk])


def link_to(order: Order) -> SafeString:
    return format_html('<a href="{}" class="text-link">{}</a>', page_of(order), order)


def link_to_buyer(order: Order) -> str:
    """A link to the customer's page; the name alone of somebody whose page is for superusers."""
    buyer = order.buyer
    if buyer is None or buyer.is_staff or buyer.is_superuser:
        return str(buyer or "–")
    return format_html(
        '<a href="{}" class="text-link">{}</a>', reverse("admin:shop_customer_change", args=[buyer.pk]), buyer
    )
