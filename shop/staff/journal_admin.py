"""The journal of the stock: who moved which units, when and why. It can only be read."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from shop.models import StockChange, Variant
from shop.staff.admin_base import ModelAdmin
from shop.times.time_range_filter import TimeRangeFilter

# The index of the SKUs knows groups of three letters.
PART_LENGTH_MIN = 3
# If more match, staff mean none of them.
VARIANTS_MAX = 200


@admin.register(StockChange)
class StockChangeAdmin(ModelAdmin):
    list_title = _("Stock journal")
    list_display = ["made_at", "what", "sku", "kind", "moved", "available", "held", "purpose", "made_by"]
    list_display_links = None
    # Newest first. Any other order would sort the whole journal for each page.
    sortable_by = ()
    list_filter = ["kind", ("made_at", TimeRangeFilter)]
    list_filter_submit = True
    list_filter_sheet = False
    list_select_related = ["variant__product", "made_by"]
    search_fields = ["variant__sku", "reference"]
    search_help_text = _("SKU or a part of it, order number, or “sale” with its number")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StockChange], search_term: str
    ) -> tuple[QuerySet[StockChange], bool]:
        """Parts of SKUs, and whole references, by their indexes. An order number with its dash or without."""
        if term := search_term.strip():
            # The variants first: in one statement with their table, neither index would be used.
            named = Q(sku__icontains=term) if len(term) >= PART_LENGTH_MIN else Q(sku__in={term, term.upper()})
            variants = list(Variant.objects.filter(named).values_list("pk", flat=True)[:VARIANTS_MAX])
            code = term.upper().replace("-", "").replace(" ", "")
            word = gettext("sale %(number)s") % {"number": ""}
            sale = f"sale {term.removeprefix(word).strip()}" if term.startswith(word) else ""
            referred = Q(reference__in={term, code, term.lower(), sale}) & ~Q(reference="")
            queryset = queryset.filter(Q(variant__in=variants) | referred)
        return queryset, False

    @admin.display(description=_("product"))
    def what(self, change: StockChange) -> SafeString:
        url = reverse("admin:shop_variant_change", args=[change.variant_id])
        return format_html('<a href="{}" class="text-link">{}</a>', url, change.variant)

    @admin.display(description=_("SKU"))
    def sku(self, change: StockChange) -> str:
        return change.variant.sku

    @admin.display(description=_("units"))
    def moved(self, change: StockChange) -> str:
        return str(change.units)

    @admin.display(description=_("available"))
    def available(self, change: StockChange) -> str:
        return f"{change.available_before} → {change.available_after}"

    @admin.display(description=_("held"))
    def held(self, change: StockChange) -> str:
        return f"{change.held_before} → {change.held_after}"

    @admin.display(description=_("reason"))
    def purpose(self, change: StockChange) -> str:
        return " · ".join(part for part in (change.shown_reference, change.reason) if part) or "–"

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("admin:shop_stockchange_changelist")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: StockChange | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: StockChange | None = None) -> bool:
        return False
