"""The page of a sale in the admin, with its pre-flight and its report."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from orders.approvals import sale_approvals
from orders.models import Rehearsal
from orders.preflight import page, rehearsal_page
from orders.preflight.kept import last_result
from orders.reminders.due_reminders import wanted_of_sale
from orders.report.pages import report_file, report_page
from seckill.models import Sale, SaleItem
from seckill.staff.change_form import ChangeForm
from seckill.staff.publish_page import Risk
from seckill.staff.sale_admin import SaleAdmin


@admin.register(Sale)
class CheckedSaleAdmin(SaleAdmin):
    change_form_before_template = "admin/orders/preflight/readiness.html"
    actions_detail = ["check_before_opening", "rehearse", *SaleAdmin.actions_detail]

    def get_urls(self) -> list[URLPattern]:
        look = self.admin_site.admin_view(self.look_view)
        progress = self.admin_site.admin_view(self.progress_view)
        mail = self.admin_site.admin_view(self.mail_view)
        report, file = self.admin_site.admin_view(report_page), self.admin_site.admin_view(report_file)
        return [
            path("<int:sale_id>/rehearsal/progress/", progress, name="seckill_sale_rehearsal_progress"),
            path("<int:sale_id>/report/", report, name="seckill_sale_report"),
            path("<int:sale_id>/report.<slug:kind>", file, name="seckill_sale_report_file"),
            path("<int:sale_id>/preflight/<uuid:run>/<int:number>/", look, name="seckill_sale_preflight_look"),
            path("<int:sale_id>/preflight/mail/", mail, name="seckill_sale_test_mail"),
            *super().get_urls(),
        ]

    def more_risks(self, sale: Sale) -> tuple[list[Risk], dict[str, Any]]:
        return page.before_publishing(sale)

    def check_added_units(self, item: SaleItem) -> None:
        sale_approvals.check_added_units(item)

    def check_publishing(self, sale: Sale) -> None:
        sale_approvals.check_publishing(sale)

    def ask_to_add_units(self, request: HttpRequest, item: SaleItem, form: ChangeForm) -> None:
        sale_approvals.ask_to_add_units(self, request, item, form)

    def ask_to_publish(self, request: HttpRequest, sale: Sale, risks: Sequence[Risk]) -> None:
        sale_approvals.ask_to_publish(self, request, sale, risks)

    def page_context(self, request: HttpRequest, obj: Sale | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj and obj.is_published:
            context["wanted_opening"], context["wanted_items"] = wanted_of_sale(obj.pk)
            context["report_url"] = reverse("admin:seckill_sale_report", args=[obj.pk])
        if obj and obj.closes_at > timezone.now() and self.has_change_permission(request, obj):
            result = last_result(obj.pk)
            context |= {"checked": result, "check_verdict": page.verdict_on(result) if result else ""}
            context["check_url"] = reverse("admin:seckill_sale_check_before_opening", args=[obj.pk])
        return context

    def look_view(self, request: HttpRequest, sale_id: int, run: UUID, number: int) -> HttpResponse:
        return page.look(self, request, sale_id=str(sale_id), run=run, number=number)

    def mail_view(self, request: HttpRequest, sale_id: int) -> HttpResponse:
        return page.send_mail(self, request, sale_id=str(sale_id))

    @action(  # type: ignore[untyped-decorator]
        description=_("Check before opening"), permissions=["change"], url_path="preflight", icon="fact_check"
    )
    def check_before_opening(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return page.start(self, request, sale_id=object_id)

    def has_rehearse_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Where rehearsals are switched off, the last report can still be read."""
        may_change = self.has_change_permission(request)
        return may_change and (settings.REHEARSALS or Rehearsal.objects.filter(sale=object_id).exists())

    @action(  # type: ignore[untyped-decorator]
        description=_("Rehearse"), permissions=["rehearse"], url_path="rehearsal", icon="groups"
    )
    def rehearse(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return rehearsal_page.page(self, request, sale_id=object_id)

    def progress_view(self, request: HttpRequest, sale_id: int) -> HttpResponse:
        if not self.has_rehearse_permission(request, sale_id):
            raise PermissionDenied
        return rehearsal_page.progress(self, request, sale_id=str(sale_id))
