from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from shop.admin_base import ModelAdmin, StaffAdmin
from shop.models import Category, Product
from shop.price_field import price_text
from shop.product_form import ProductForm, items_dearer_than

# Registered again below, with the look of the other pages.
admin.site.unregister([User, Group])
# Not for staff: the shop does not use allauth's addresses, and a second factor belongs to its user alone.
admin.site.unregister([EmailAddress, Authenticator])


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    pass


@admin.register(Category)
class CategoryAdmin(StaffAdmin):
    list_display = ["name", "name_zh", "slug"]
    search_fields = ["name", "name_zh", "slug"]
    prepopulated_fields = {"slug": ["name"]}

    def reason_to_keep(self, obj: Category) -> str | None:
        if obj.products.exists():
            return _("“%(category)s” has products, so it cannot be deleted.") % {"category": obj}
        return None


@admin.register(Product)
class ProductAdmin(StaffAdmin):
    form = ProductForm
    list_display = ["name", "name_zh", "category", "price", "stock", "is_active"]
    list_filter = ["is_active", "category"]
    list_select_related = ["category"]
    search_fields = ["name", "name_zh", "slug"]
    autocomplete_fields = ["category"]
    prepopulated_fields = {"slug": ["name"]}

    @admin.display(description=_("Price"), ordering="price_minor")
    def price(self, product: Product) -> str:
        return price_text(product.price_minor)

    def get_fieldsets(self, request: HttpRequest, obj: Product | None = None) -> list[Any]:
        # Staff who may only view get the price as text; the field itself would show minor units.
        price = "price_minor" if self.may_edit(request, obj) else "price"
        return [
            (None, {"fields": [("name", "name_zh"), "slug", "category", price, "stock", "is_active"]}),
            (_("Description"), {"fields": ["description", "description_zh"]}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Product | None = None) -> list[str]:
        return [] if self.may_edit(request, obj) else ["price"]

    def may_edit(self, request: HttpRequest, product: Product | None) -> bool:
        return self.has_change_permission(request, product) if product else self.has_add_permission(request)

    def get_prepopulated_fields(self, request: HttpRequest, obj: Product | None = None) -> dict[str, Any]:
        return self.prepopulated_fields if self.may_edit(request, obj) else {}

    def reason_to_keep(self, obj: Product) -> str | None:
        if obj.order_lines.exists():
            return _("“%(product)s” has orders, so it cannot be deleted. Hide it from the shop instead.") % {
                "product": obj
            }
        if obj.sale_items.exists():
            return _("“%(product)s” is in a sale, so it cannot be deleted. Hide it from the shop instead.") % {
                "product": obj
            }
        return None

    def save_model(self, request: HttpRequest, obj: Product, form: "ModelForm[Product]", change: bool) -> None:
        super().save_model(request, obj, form, change)
        for item in items_dearer_than(obj.price_minor, product=obj):
            self.message_user(
                request,
                _(
                    "The sale “%(sale)s” has a higher price for this product: %(price)s. Lower it before you publish "
                    "the sale."
                )
                % {"sale": item.sale, "price": price_text(item.price_minor)},
                messages.WARNING,
            )
