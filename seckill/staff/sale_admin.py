"""Sales in the admin. Drafts are edited and published here; published sales are changed by the buttons."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display

from seckill.live.staff_figures import figures_of, names_of
from seckill.models import Sale, SaleItem
from seckill.staff.change_form import ChangeForm
from seckill.staff.change_list import journal_of
from seckill.staff.change_pages import buttons_of, buttons_of_item, change_page, is_over
from seckill.staff.draw_figures import draw_figures
from seckill.staff.duplicate import duplicate
from seckill.staff.phase_filter import LABEL_COLOURS, PhaseFilter, item_state_of, labelled_phase, open_first, state_of
from seckill.staff.preview_page import preview_page, previews_of
from seckill.staff.publish_page import Risk, publish_page
from seckill.staff.room_figures import LABELS, room_figures
from seckill.staff.sale_form import SaleItemInline
from seckill.terms.guard_fields import ALL_GUARDS
from shop.languages.columns import in_all_languages
from shop.staff.admin_base import StaffAdmin
from shop.staff.history_pages import WithHistory
from shop.times.zone import time_with_offset

TERMS = ["opens_at", "closes_at", "hold_seconds"]


class SaleAdmin(WithHistory, StaffAdmin):
    """Registered by an upper floor, which adds to it."""

    list_display = ["title", "phase", "opens_at", "closes_at", "item_count"]
    list_filter = [PhaseFilter]
    search_fields = [*in_all_languages("name", "items__variant__product__name"), "items__variant__sku"]
    history_parts = [(SaleItem, "sale")]
    actions_detail = ["duplicate_sale"]
    actions_submit_line = ["save_and_publish"]
    change_form_outer_before_template = "admin/seckill/sale/items.html"
    change_form_outer_after_template = "admin/seckill/sale/journal.html"

    class Media:
        css = {"all": ["seckill/staff-sale.css"]}
        js = ["seckill/live-figures.js"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.control_view)
        publish = self.admin_site.admin_view(self.publish_view)
        control_path = "<int:sale_id>/control/<slug:kind>/"
        return [
            path(control_path, view, name="seckill_sale_control"),
            path(f"{control_path}<int:item_id>/", view, name="seckill_sale_control"),
            path("<int:sale_id>/publish/", publish, name="seckill_sale_publish"),
            path(
                "<int:sale_id>/preview/<slug:language>/",
                self.admin_site.admin_view(preview_page),
                name="seckill_sale_preview",
            ),
            *super().get_urls(),
        ]

    def control_view(self, request: HttpRequest, sale_id: int, kind: str, item_id: int | None = None) -> HttpResponse:
        return change_page(
            self,
            request,
            sale_id=sale_id,
            kind=kind,
            item_id=item_id,
            check_units=self.check_added_units,
            ask_another=self.ask_to_add_units,
        )

    def publish_view(self, request: HttpRequest, sale_id: int) -> HttpResponse:
        return publish_page(
            self,
            request,
            sale_id=sale_id,
            more_risks=self.more_risks,
            check=self.check_publishing,
            ask_another=self.ask_to_publish,
        )

    # An upper floor has bounds for one person. These are called under the sale's lock, and raise AboveBound.
    def check_added_units(self, item: SaleItem) -> None: ...

    def check_publishing(self, sale: Sale) -> None: ...

    # Then it asks another person.
    def ask_to_add_units(self, request: HttpRequest, item: SaleItem, form: ChangeForm) -> None: ...

    def ask_to_publish(self, request: HttpRequest, sale: Sale, risks: Sequence[Risk]) -> None: ...

    def more_risks(self, sale: Sale) -> tuple[list[Risk], dict[str, Any]]:
        """What an upper floor wants to be confirmed before publishing, and what the page shows about it."""
        return [], {}

    @admin.display(description=_("name"), ordering="name")
    def title(self, sale: Sale) -> str:
        return str(sale)

    @display(description=_("phase"), label=LABEL_COLOURS)  # type: ignore[untyped-decorator]
    def phase(self, sale: Sale) -> tuple[str, str]:
        return labelled_phase(sale)

    @admin.display(description=_("opens at"))
    def opens_text(self, sale: Sale) -> str:
        return time_with_offset(sale.opens_at)

    @admin.display(description=_("closes at"))
    def closes_text(self, sale: Sale) -> SafeString:
        """Renewed by seckill/static/seckill/live-figures.js."""
        return format_html('<span data-live-part="closes_at">{}</span>', time_with_offset(sale.closes_at))

    @admin.display(description=_("items"), ordering="item_count")
    def item_count(self, sale: Any) -> int:
        count: int = sale.item_count
        return count

    def get_ordering(self, request: HttpRequest) -> Any:
        return open_first()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Sale]:
        sales: QuerySet[Sale] = super().get_queryset(request)
        return sales.annotate(item_count=Count("items", distinct=True))

    def get_fieldsets(self, request: HttpRequest, obj: Sale | None = None) -> list[Any]:
        names = (None, {"fields": [tuple(in_all_languages("name"))]})
        guards = (_("Keeping scripts out"), {"fields": ALL_GUARDS, "classes": ["collapse"]})
        if obj is None or not obj.is_published:
            choices = ["late_payment", "waiting_list", "listed", "admission", "pace"]
            return [names, (_("Terms"), {"fields": [*TERMS, *choices]}), guards]
        frozen = _("This sale is published. Use the buttons above to change its terms.")
        choices = ["late_payment", "waiting_list", "listed", "admission"]
        fields = [("opens_text", "closes_text"), "published_at", "hold_seconds", *choices]
        return [names, (_("Terms"), {"fields": fields, "description": frozen}), guards]

    def get_readonly_fields(self, request: HttpRequest, obj: Sale | None = None) -> list[str]:
        shown = ["opens_text", "closes_text", "published_at"]
        if obj is None or not obj.is_published:
            return []
        # People may wait in the list, so it stays once there is one.
        return [*TERMS, "admission", *shown, *(["waiting_list"] if obj.waiting_list else [])]

    def get_inlines(self, request: HttpRequest, obj: Sale | None = None) -> list[Any]:
        return [] if obj and obj.is_published else [SaleItemInline]

    def get_view_on_site_url(self, obj: Sale | None = None) -> str | None:
        return super().get_view_on_site_url(obj) if obj and obj.is_published else None

    def get_actions_submit_line(self, request: HttpRequest, object_id: Any) -> list[Any]:
        if Sale.objects.filter(pk=object_id, published_at__isnull=False).exists():
            return []
        actions: list[Any] = super().get_actions_submit_line(request, object_id)  # type: ignore[misc]
        return actions

    @action(description=_("Save and publish …"), permissions=["change"])  # type: ignore[untyped-decorator]
    def save_and_publish(self, request: HttpRequest, obj: Sale) -> None:
        """A button beside *Save*, so that no edit is lost: `response_change` leads on to the page that asks."""

    def response_add(self, request: HttpRequest, obj: Sale, post_url_continue: str | None = None) -> HttpResponse:
        """*Save* leads to the draft's own page, which has the next steps; Django's leads back to the list."""
        others = {"_continue", "_addanother", IS_POPUP_VAR}
        if others & request.POST.keys() or not self.has_change_permission(request, obj):
            return super().response_add(request, obj, post_url_continue)
        if "seckill_sale_save_and_publish" in request.POST:
            return redirect("admin:seckill_sale_publish", obj.pk)
        text = (
            _("This is a draft: buyers do not see it yet. Check it, then publish it with “Save and publish …” below.")
            if obj.items.exists()
            else _("This is a draft without items. Enter below what it sells, then press “Save and publish …”.")
        )
        self.message_user(request, text, messages.SUCCESS)
        return redirect(self.page_of(obj))

    def response_change(self, request: HttpRequest, obj: Sale) -> HttpResponse:
        if "seckill_sale_save_and_publish" in request.POST and not obj.is_published:
            return redirect("admin:seckill_sale_publish", obj.pk)
        return super().response_change(request, obj)

    def reason_to_keep(self, obj: Sale) -> str | None:
        if not obj.is_published:
            return None
        if labelled_phase(obj)[0] == "ended":
            return _("“%(sale)s” is over. It cannot be deleted: its orders and its journal are kept.") % {"sale": obj}
        return _(
            "“%(sale)s” is published and buyers may hold units of it, so it cannot be deleted. Use “End now” on "
            "its page instead: buyers can still pay for the units they hold."
        ) % {"sale": obj}

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Items are deleted with their sale, although their own admin allows no deleting."""
        listed, counts, lacking, protected = super().get_deleted_objects(objs, request)
        return listed, counts, lacking - {SaleItem._meta.verbose_name}, protected

    def page_context(self, request: HttpRequest, obj: Sale | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is None:
            # The theme has them only on the page of a saved row.
            context["actions_submit_line"] = self.get_actions_submit_line(request, None)
        if obj and not obj.is_published:
            context["previews"] = previews_of(obj)
        if obj and obj.is_published:
            rows = obj.items.select_related("sale", "variant__product").order_by("pk")
            items = list(rows.prefetch_related("variant__product__pictures"))
            names = names_of(items)
            figures = figures_of(items, names=names)
            phase_key, phase = labelled_phase(obj)
            may_change = self.has_change_permission(request, obj)
            may_change_items = may_change and not is_over(obj)
            room = room_figures(obj)
            context |= {
                "room": [(name, LABELS[name], figure) for name, figure in room.items()],
                "draw": draw_figures(obj),
                "room_item": items[0].pk if items else None,
                "rows": [
                    (
                        row,
                        buttons_of_item(row.item, has_others=len(items) > 1) if may_change_items else [],
                        item_state_of(row.item),
                    )
                    for row in figures
                ],
                "buttons": buttons_of(obj) if may_change else [],
                "journal": journal_of(obj, names=names),
                "board_url": reverse("board", args=[obj.pk]),
                "state": state_of(obj),
                "phase": phase,
                "phase_colour": LABEL_COLOURS[phase_key],
                "has_opened": obj.opens_at <= timezone.now(),
            }
        return context

    def save_model(self, request: HttpRequest, obj: Sale, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.is_published and "opens_at_0" in request.POST:
            only_these = _(
                "This sale was published while you were editing it. Its items, times, seconds to pay and admission "
                "stay as they were published; the rest was saved."
            )
            self.message_user(request, only_these, messages.WARNING)

    def has_duplicate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.has_add_permission(request)

    @action(  # type: ignore[untyped-decorator]
        description=_("Duplicate this sale …"), permissions=["duplicate"], icon="content_copy"
    )
    def duplicate_sale(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask first; a POST makes a draft and leads to it."""
        with transaction.atomic():
            sale = self.get_object(request, unquote(object_id))
        if sale is None:
            raise Http404
        if request.method == "POST":
            draft = duplicate(sale_id=sale.pk)
            self.log_addition(request, draft, str(_("Duplicated from “%(sale)s”.") % {"sale": sale}))
            text = _("This is a draft with the same items, one week later. Check its times and quantities.")
            self.message_user(request, text, messages.SUCCESS)
            return redirect(self.page_of(draft))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Duplicate “%(sale)s”?") % {"sale": sale},
            "names": names_of(sale.items.select_related("variant__product").order_by("pk")).values(),
            "sale_url": self.page_of(sale),
        }
        return TemplateResponse(request, "admin/seckill/sale/duplicate.html", context)
