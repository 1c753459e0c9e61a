"""Categories and tax rates in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from shop.languages.columns import in_all_languages, in_default_language
from shop.models import Category, TaxRate
from shop.staff.admin_base import StaffAdmin
from shop.staff.category_path import PARENTS, SEPARATOR, CategoryField, above
from shop.staff.history_pages import WithHistory


@admin.register(Category)
class CategoryAdmin(WithHistory, StaffAdmin):
    list_display = ["name", "under", "slug", "position"]
    list_select_related = [PARENTS]
    search_fields = [*in_all_languages("name"), "slug"]
    prepopulated_fields = {"slug": [in_default_language("name")]}
    fields = [*in_all_languages("name"), "slug", "parent", "position"]

    @admin.display(description=_("parent category"))
    def under(self, category: Category) -> str:
        return SEPARATOR.join(str(step) for step in above(category)) or "–"

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "parent":
            return CategoryField(label=capfirst(_("parent category")), empty_label=_("None: at the top"))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def reason_to_keep(self, obj: Category) -> str | None:
        if obj.products.exists():
            return _("“%(category)s” has products, so it cannot be deleted.") % {"category": obj}
        if obj.children.exists():
            return _("“%(category)s” contains categories, so it cannot be deleted.") % {"category": obj}
        return None


@admin.register(TaxRate)
class TaxRateAdmin(WithHistory, StaffAdmin):
    list_display = ["name", "percent"]
    fields = [*in_all_languages("name"), "percent"]

    def reason_to_keep(self, obj: TaxRate) -> str | None:
        if obj.products.exists():
            return _("“%(rate)s” is the rate of products, so it cannot be deleted.") % {"rate": obj}
        return None
