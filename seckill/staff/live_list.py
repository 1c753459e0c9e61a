"""The list of all items on sale with their live figures."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from seckill.live.staff_figures import figures_of, names_of
from seckill.models import SaleItem
from seckill.staff.permissions import ReadOnlySaleAdmin
from seckill.staff.phase_filter import LABEL_COLOURS, ItemPhaseFilter, item_state_of, labelled_phase, open_first
from seckill.staff.room_figures import room_figures
from shop.languages.columns import in_all_languages

# One page of the list: as many items as one request may ask the store for.
ITEMS_MAX = 100


@admin.register(SaleItem)
class SaleItemAdmin(ReadOnlySaleAdmin):
    """Shows figures only. Items are edited on the page of their sale."""

    list_title = _("Live figures")
    list_display = ["product", "sale_link", "phase", "quantity_text", "left", "held", "sold", "taken_now", "note"]
    list_filter = [ItemPhaseFilter]
    list_select_related = ["sale", "variant__product"]
    list_per_page = ITEMS_MAX
    list_max_show_all = ITEMS_MAX
    search_fields = [*in_all_languages("variant__product__name", "sale__name"), "variant__sku"]
    list_before_template = "admin/seckill/saleitem/live.html"

    class Media:
        js = ["seckill/live-figures.js"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.figures_view)
        return [path("figures/", view, name="seckill_saleitem_figures"), *super().get_urls()]

    def get_ordering(self, request: HttpRequest) -> Any:
        return open_first(path="sale__")

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """The page of the list, with the figures of its items from one round trip."""
        changelist = super().get_changelist_instance(request)
        items: list[Any] = list(changelist.result_list)
        for item, figures in zip(items, figures_of(items, names=names_of(items)), strict=True):
            item.figures = figures
        changelist.result_list = items
        return changelist

    def figures_view(self, request: HttpRequest) -> JsonResponse:
        """The figures of the requested items, by id; seckill/static/seckill/live-figures.js polls every two seconds."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        pks = [int(pk) for pk in request.GET.getlist("item")[:ITEMS_MAX] if pk.isdecimal() and len(pk) < 19]
        items = list(SaleItem.objects.select_related("sale").filter(pk__in=pks))
        rooms = {sale.pk: room_figures(sale) for sale in {item.sale for item in items}}
        return JsonResponse(
            {
                figures.item.pk: {
                    **figures.as_json(),
                    **rooms[figures.item.sale_id],
                    "state": item_state_of(figures.item),
                }
                for figures in figures_of(items)
            }
        )

    @admin.display(description=_("product"), ordering="variant")
    def product(self, item: Any) -> str:
        name: str = item.figures.name
        return name

    @admin.display(description=_("sale"), ordering="sale__name")
    def sale_link(self, item: SaleItem) -> str:
        url = reverse("admin:seckill_sale_change", args=[item.sale_id])
        return format_html('<a href="{}" class="text-link">{}</a>', url, item.sale)

    @display(description=_("phase"), label=LABEL_COLOURS)  # type: ignore[untyped-decorator]
    def phase(self, item: SaleItem) -> tuple[str, str]:
        return labelled_phase(item.sale)

    @admin.display(description=_("quantity"), ordering="quantity")
    def quantity_text(self, item: Any) -> str:
        return live_cell(item, "quantity")

    @admin.display(description=_("left"))
    def left(self, item: Any) -> str:
        return live_cell(item, "left")

    @admin.display(description=_("held"))
    def held(self, item: Any) -> str:
        return live_cell(item, "held")

    @admin.display(description=_("sold"))
    def sold(self, item: Any) -> str:
        return live_cell(item, "sold")

    @admin.display(description=_("in orders"), ordering="taken")
    def taken_now(self, item: Any) -> str:
        return live_cell(item, "taken")

    @admin.display(description=_("note"))
    def note(self, item: Any) -> str:
        state = format_html('<span hidden data-item="{}" data-figure="state">{}</span>', item.pk, item_state_of(item))
        return live_cell(item, "note") + state


def live_cell(item: Any, name: str) -> SafeString:
    """A figure in the form that seckill/static/seckill/live-figures.js can update."""
    text = item.figures.as_json()[name]
    return format_html('<span data-item="{}" data-figure="{}">{}</span>', item.pk, name, text)
