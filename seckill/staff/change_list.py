"""The journal of changes in the admin. Entries are never edited or deleted."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from seckill.changes.texts import outcome_sentence, reason_text, request_text
from seckill.models import Sale, SaleChange
from seckill.staff.permissions import ReadOnlySaleAdmin
from shop.languages.columns import in_all_languages, in_default_language
from shop.times.time_range_filter import TimeRangeFilter

# How many the page of a sale shows; the list has all of them.
ENTRIES_SHOWN = 20

LABEL_COLOURS = {
    SaleChange.Status.PENDING: "warning",
    SaleChange.Status.APPLIED: "success",
    SaleChange.Status.REFUSED: "danger",
}


@admin.register(SaleChange)
class SaleChangeAdmin(ReadOnlySaleAdmin):
    list_title = _("Changes of sales")
    list_display = ["when", "who", "sale_link", "product", "what", "reason_given", "status_label", "outcome_text"]
    list_filter = ["status", "kind", ("made_at", TimeRangeFilter)]
    list_filter_submit = True
    list_select_related = ["made_by", "item__sale", "item__variant__product"]
    search_fields = [
        "reason",
        "made_by__username",
        *in_all_languages("item__sale__name", "item__variant__product__name"),
        "item__variant__sku",
    ]

    @admin.display(description=_("made at"), ordering="made_at")
    def when(self, change: SaleChange) -> str:
        return date_format(localtime(change.made_at), "DATETIME_FORMAT")

    @admin.display(description=_("made by"), ordering="made_by__username")
    def who(self, change: SaleChange) -> str:
        return str(change.made_by or "–")

    @admin.display(description=_("sale"), ordering="item__sale__name")
    def sale_link(self, change: SaleChange) -> str:
        url = reverse("admin:seckill_sale_change", args=[change.item.sale_id])
        return format_html('<a href="{}" class="text-link">{}</a>', url, change.item.sale)

    @admin.display(description=_("product"), ordering=in_default_language("item__variant__product__name"))
    def product(self, change: SaleChange) -> str:
        return str(change.item.variant)

    @admin.display(description=_("change"), ordering="kind")
    def what(self, change: SaleChange) -> str:
        return request_text(change)

    @admin.display(description=_("reason"), ordering="reason")
    def reason_given(self, change: SaleChange) -> str:
        return reason_text(change)

    @display(description=_("status"), ordering="status", label=LABEL_COLOURS)  # type: ignore[untyped-decorator]
    def status_label(self, change: SaleChange) -> tuple[str, str]:
        return change.status, change.get_status_display()

    @admin.display(description=_("outcome"))
    def outcome_text(self, change: SaleChange) -> str:
        return outcome_sentence(change)


def journal_of(sale: Sale, *, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """The latest entries of the sale, as its page shows them. `names` are those of its items."""
    changes: QuerySet[SaleChange] = SaleChange.objects.filter(item__sale=sale)
    latest = changes.select_related("made_by").order_by("-pk")[:ENTRIES_SHOWN]
    return [
        {
            "change": change,
            "product": names[change.item_id],
            "what": request_text(change),
            "reason": reason_text(change),
            "outcome": outcome_sentence(change),
        }
        for change in latest
    ]
