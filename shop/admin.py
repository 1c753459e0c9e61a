from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from shop.accounts.person_admin import PersonAdmin
from shop.admin_base import ModelAdmin, StaffAdmin, TabularInline
from shop.languages.columns import in_all_languages
from shop.models import Category, Picture, Product, TaxRate, Variant
from shop.price_field import price_text
from shop.product_form import VariantForm

# Registered again below, with the look of the other pages.
admin.site.unregister([User, Group])
# Not for staff: confirmed addresses, second factors and sessions belong to their user alone.
admin.site.unregister([EmailAddress, Authenticator, UserSession])


admin.site.register(User, PersonAdmin)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    pass


@admin.register(Category)
class CategoryAdmin(StaffAdmin):
    list_display = ["name", "slug", "parent", "position"]
    list_select_related = ["parent"]
    search_fields = [*in_all_languages("name"), "slug"]
    prepopulated_fields = {"slug": ["name_en"]}
    autocomplete_fields = ["parent"]
    fields = [tuple(in_all_languages("name")), "slug", "parent", "position"]

    def reason_to_keep(self, obj: Category) -> str | None:
        if obj.products.exists():
            return _("“%(category)s” has products, so it cannot be deleted.") % {"category": obj}
        return None


@admin.register(TaxRate)
class TaxRateAdmin(StaffAdmin):
    list_display = ["name", "percent"]
    fields = [tuple(in_all_languages("name")), "percent"]


class VariantInline(TabularInline):
    model = Variant
    form = VariantForm
    extra = 0
    fields = ["sku", *in_all_languages("options"), "price_minor", "weight_grams", "position", "is_active"]
    fields += ["available", "held", "sold"]
    readonly_fields = ["available", "held", "sold"]


class PictureInline(TabularInline):
    model = Picture
    extra = 0
    fields = ["image", *in_all_languages("alt"), "position"]


@admin.register(Product)
class ProductAdmin(StaffAdmin):
    list_display = ["name", "category", "is_active"]
    list_filter = ["is_active", "category"]
    list_select_related = ["category"]
    search_fields = [*in_all_languages("name"), "slug", "variants__sku"]
    autocomplete_fields = ["category"]
    prepopulated_fields = {"slug": ["name_en"]}
    inlines = [VariantInline, PictureInline]
    fieldsets = [
        (None, {"fields": [tuple(in_all_languages("name")), "slug", "category", "tax_rate", "is_active"]}),
        (_("Options"), {"fields": [tuple(in_all_languages("option_names"))]}),
        (_("Description"), {"fields": [*in_all_languages("description")]}),
    ]

    def reason_to_keep(self, obj: Product) -> str | None:
        if obj.variants.filter(order_lines__isnull=False).exists():
            return _("“%(product)s” has orders, so it cannot be deleted. Hide it from the shop instead.") % {
                "product": obj
            }
        if obj.variants.filter(sale_items__isnull=False).exists():
            return _("“%(product)s” is in a sale, so it cannot be deleted. Hide it from the shop instead.") % {
                "product": obj
            }
        return None


@admin.register(Variant)
class VariantAdmin(ModelAdmin):
    """Only for the choice of a variant in other forms; variants are edited with their product."""

    list_display = ["__str__", "sku", "price"]
    list_select_related = ["product"]
    search_fields = [*in_all_languages("product__name"), "sku"]

    @admin.display(description=_("Price"), ordering="price_minor")
    def price(self, variant: Variant) -> str:
        return price_text(variant.price_minor)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Variant | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Variant | None = None) -> bool:
        return False
