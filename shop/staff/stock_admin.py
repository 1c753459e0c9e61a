"""The stock of each variant: a list, and a page where it is counted or changed."""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Case, QuerySet, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from shop.languages.columns import in_all_languages
from shop.models import StockChange, Variant
from shop.prices.price_field import price_text
from shop.staff.admin_base import StaffAdmin
from shop.staff.history_pages import WithHistory
from shop.staff.product_filters import StockFilter
from shop.staff.stock_form import StockForm
from shop.staff.stock_step import take
from shop.staff.stock_tables import WithStockTable
from shop.stock.low_stock import is_low

# On the page of a variant; the journal has all.
LATEST_MAX = 20


@admin.register(Variant)
class VariantAdmin(WithStockTable, WithHistory, StaffAdmin):
    """Everything else of a variant is edited with its product. This list is also searched by other forms."""

    form = StockForm
    list_title = _("Stock")
    list_display = ["name", "sku", "price", "available_units", "held", "sold", "low_at"]
    list_filter = [StockFilter, "is_active"]
    ordering = ["product__name", "position", "pk"]
    search_fields = ["sku", *in_all_languages("product__name")]
    search_help_text = _("Product or SKU")
    actions = []
    readonly_fields = ["name", "sku", "price", "figures", "product_link"]
    change_form_outer_after_template = "admin/shop/stock_journal.html"

    class Media:
        js = ["shop/stock.js"]

    def get_fieldsets(self, request: HttpRequest, obj: Variant | None = None) -> list[Any]:
        shown = [("product_link", "sku"), ("price", "figures")]
        if not self.has_change_permission(request, obj):
            return [(None, {"fields": [*shown, "low_stock_at"]})]
        return [
            (None, {"fields": shown}),
            (_("Change the stock"), {"fields": ["how", "units", "reason", "seen", "token"]}),
            (_("Low stock"), {"fields": ["low_stock_at"]}),
        ]

    @admin.display(description=_("product"), ordering="product__name")
    def name(self, variant: Variant) -> str:
        return str(variant)

    @admin.display(description=_("product"))
    def product_link(self, variant: Variant) -> SafeString:
        url = reverse("admin:shop_product_change", args=[variant.product_id])
        return format_html('<a href="{}" class="text-link">{}</a>', url, variant)

    @admin.display(description=_("Price"), ordering="price_minor")
    def price(self, variant: Variant) -> str:
        return price_text(variant.price_minor)

    @display(description=_("available"), ordering="available", label={"low": "danger", "enough": "success"})  # type: ignore[untyped-decorator]
    def available_units(self, variant: Any) -> tuple[str, str]:
        return "low" if variant.low else "enough", str(variant.available)

    @admin.display(description=_("low at"), ordering="low_stock_at")
    def low_at(self, variant: Variant) -> str:
        return "–" if variant.low_stock_at is None else str(variant.low_stock_at)

    @admin.display(description=_("stock"))
    def figures(self, variant: Variant) -> SafeString:
        return format_html(
            gettext(
                "<b>{available}</b> available + <b>{held}</b> held by checkouts = <b>{there}</b> there; {sold} sold"
            ),
            available=variant.available,
            held=variant.held,
            there=variant.available + variant.held,
            sold=variant.sold,
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Variant]:
        variants: QuerySet[Variant] = super().get_queryset(request).select_related("product")
        return variants.annotate(low=Case(When(is_low(), then=True), default=False))

    def save_model(self, request: HttpRequest, obj: Variant, form: Any, change: bool) -> None:
        if "low_stock_at" in form.changed_data:
            # Only this column: the counters are changed by movements alone.
            obj.save(update_fields=["low_stock_at"])
        if form.step is not None:
            sent = form.cleaned_data
            made_by = cast(User, request.user)
            take(form.step, variant_id=obj.pk, reason=sent["reason"], made_by=made_by, token=sent["token"])
        vars(request)["was_sent_before"] = form.was_sent_before

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Django's log names the fields of the form; the journal has the figures."""
        if form.step is not None:
            return str(_("Stock changed: %(reason)s") % {"reason": form.cleaned_data["reason"]})
        return super().construct_change_message(request, form, formsets, add)

    def response_change(self, request: HttpRequest, obj: Variant) -> HttpResponse:
        """Stay on the page: its figures and its journal show the change."""
        obj.refresh_from_db()
        text, level = _("Saved. “%(product)s” has %(available)d available units now."), messages.SUCCESS
        if vars(request)["was_sent_before"]:
            text, level = (
                _(
                    "This form was sent before, so the stock was not changed now. “%(product)s” has %(available)d "
                    "available units."
                ),
                messages.WARNING,
            )
        self.message_user(request, text % {"product": obj, "available": obj.available}, level)
        leaves = "_save" in request.POST
        return self.response_post_save_change(request, obj) if leaves else redirect(self.page_of(obj))

    def page_context(self, request: HttpRequest, obj: Variant | None) -> dict[str, Any]:
        context = {**super().page_context(request, obj), "title": _("Stock")}
        if obj is not None:
            entries = StockChange.objects.filter(variant=obj).select_related("made_by").order_by("-pk")
            context["latest_entries"] = entries[:LATEST_MAX]
            context["may_see_journal"] = request.user.has_perm("shop.view_stockchange")
        return context

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Variant | None = None) -> bool:
        """The stock, for staff who may write to its journal."""
        return request.user.has_perm("shop.add_stockchange")

    def has_delete_permission(self, request: HttpRequest, obj: Variant | None = None) -> bool:
        return False
