"""The items in the form of a draft sale. Errors are shown at the field that breaks a rule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import QuerySet
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldBooleanWidget

from seckill.live.staff_figures import units_text
from seckill.models import Sale, SaleItem
from seckill.staff.permissions import may_see_sales
from shop.models import Variant
from shop.prices.price_field import PriceField, price_text
from shop.staff.admin_base import TabularInline

if TYPE_CHECKING:
    # django-unfold has no types; its formset extends this one.
    BaseInlineFormSet = forms.BaseInlineFormSet[Any, Any, Any]
else:
    from unfold.forms import PaginationInlineFormSet as BaseInlineFormSet


class VariantSelect(AutocompleteSelect):
    """Django's own reads the chosen variant and its product again, for each row."""

    chosen: Variant | None = None

    def optgroups(self, name: str, value: Sequence[str], attrs: Any = None) -> list[Any]:
        if self.chosen is None or list(value) != [str(self.chosen.pk)]:
            return super().optgroups(name, value, attrs)
        return [(None, [self.create_option(name, self.chosen.pk, str(self.chosen), True, 0)], 0)]


class SaleItemForm(forms.ModelForm):  # type: ignore[type-arg]
    """No limit is a switch of its own: an empty field is a forgotten one."""

    price_minor = PriceField(label=_("Sale price"))
    unlimited = forms.BooleanField(
        label=_("unlimited"),
        required=False,
        help_text=_("Sold until the sale ends, without a limit of units."),
        widget=UnfoldBooleanWidget,
    )

    class Meta:
        model = SaleItem
        fields = ["variant", "price_minor", "quantity", "per_buyer_max"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["unlimited"].initial = self.instance.pk is not None and self.instance.quantity is None
        if self.instance.pk is not None and "variant" in self.fields:
            self.fields["variant"].widget.widget.chosen = self.instance.variant

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("unlimited") and cleaned.get("quantity"):
            self.add_error("quantity", _("Enter a quantity or check “unlimited”, not both."))
        elif not cleaned.get("unlimited") and "quantity" in cleaned and cleaned["quantity"] is None:
            self.add_error("quantity", _("Enter a quantity, or check “unlimited”."))
        return cleaned


class SaleItemFormSet(BaseInlineFormSet):
    """The items of one sale. Django gives each the unsaved sale, so the entered window is the one that is checked."""

    def clean(self) -> None:
        """Refuse a product that an earlier row has, at its field; Django would show the error above the rows."""
        variants = set()
        for form in self.forms:
            row = getattr(form, "cleaned_data", {})
            variant = row.get("variant")
            if variant is None or row.get(DELETION_FIELD_NAME):
                continue
            if variant in variants:
                form.add_error("variant", _("This product is already in the sale."))
            variants.add(variant)
        super().clean()


class SaleItemInline(TabularInline):
    """The items of a draft sale. The permission to change the sale covers its items."""

    model = SaleItem
    form = SaleItemForm
    formset = SaleItemFormSet
    autocomplete_fields = ["variant"]
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[SaleItem]:
        items: QuerySet[SaleItem] = super().get_queryset(request)
        return items.select_related("variant__product")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_foreignkey(
            db_field, request, **{"widget": VariantSelect(db_field, self.admin_site), **kwargs}
        )

    def get_extra(self, request: HttpRequest, obj: Sale | None = None, **kwargs: Any) -> int:
        return 0 if obj else 1

    def get_fields(self, request: HttpRequest, obj: Sale | None = None) -> list[Any]:
        if not self.has_change_permission(request, obj):
            return ["variant", "price", "units", "per_buyer_max"]
        return ["variant", "price_minor", "quantity", "unlimited", "per_buyer_max"]

    def get_readonly_fields(self, request: HttpRequest, obj: Sale | None = None) -> list[Any]:
        return [] if self.has_change_permission(request, obj) else ["price", "units"]

    @admin.display(description=_("Sale price"))
    def price(self, item: SaleItem) -> str:
        return price_text(item.price_minor)

    @admin.display(description=_("quantity"))
    def units(self, item: SaleItem) -> str:
        return units_text(item.quantity)

    def has_view_permission(self, request: HttpRequest, obj: Sale | None = None) -> bool:
        return may_see_sales(request)

    def has_add_permission(self, request: HttpRequest, obj: Sale | None = None) -> bool:
        return request.user.has_perm("seckill.change_sale" if obj else "seckill.add_sale")

    def has_change_permission(self, request: HttpRequest, obj: Sale | None = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Sale | None = None) -> bool:
        return self.has_add_permission(request, obj)
