"""The page of a sale in the admin, with its pre-flight and its report."""

from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from orders.approvals.sale_approvals import WithApprovals
from orders.models import Rehearsal
from orders.preflight import page, rehearsal_page
from orders.preflight.kept import result_of
from orders.reminders.due_reminders import wanted_of_sale
from orders.report.pages import report_file, report_page
from seckill.models import Sale
from seckill.staff.publish_page import Risk


@admin.register(Sale)
class CheckedSaleAdmin(WithApprovals):
    change_form_before_template = "admin/orders/preflight/readiness.html"
    actions_detail = ["check_before_opening", "rehearse", *WithApprovals.actions_detail]

    def get_urls(self) -> list[URLPattern]:
        staff_only = self.admin_site.admin_view
        look, send_mail = staff_only(partial(page.look, self)), staff_only(partial(page.send_mail, self))
        progress = staff_only(partial(rehearsal_page.progress, self))
        return [
            path("<int:sale_id>/rehearsal/progress/", progress, name="seckill_sale_rehearsal_progress"),
            path("<int:sale_id>/report/", staff_only(report_page), name="seckill_sale_report"),
            path("<int:sale_id>/report.<slug:kind>", staff_only(report_file), name="seckill_sale_report_file"),
            path("<int:sale_id>/preflight/<uuid:run>/<int:number>/", look, name="seckill_sale_preflight_look"),
            path("<int:sale_id>/preflight/mail/", send_mail, name="seckill_sale_test_mail"),
            *super().get_urls(),
        ]

    def more_risks(self, sale: Sale) -> tuple[list[Risk], dict[str, Any]]:
        return page.before_publishing(sale)

    def page_context(self, request: HttpRequest, obj: Sale | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj and obj.is_published:
            context["wanted_opening"], context["wanted_items"] = wanted_of_sale(obj.pk)
            context["report_url"] = reverse("admin:seckill_sale_report", args=[obj.pk])
        if obj and obj.closes_at > timezone.now() and self.has_change_permission(request, obj):
            result = result_of(obj)
            context |= {"checked": result, "check_verdict": page.verdict_on(result) if result else ""}
            context["check_url"] = reverse("admin:seckill_sale_check_before_opening", args=[obj.pk])
        return context

    @action(  # type: ignore[untyped-decorator]
        description=_("Check before opening"), permissions=["change"], url_path="preflight", icon="fact_check"
    )
    def check_before_opening(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return page.start(self, request, sale_id=object_id)

    def has_rehearse_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Where rehearsals are switched off, the last report can still be read."""
        may_change = self.has_change_permission(request)
        return may_change and (settings.REHEARSALS or Rehearsal.objects.filter(sale=self.pk_of(object_id)).exists())

    @action(  # type: ignore[untyped-decorator]
        description=_("Rehearse"), permissions=["rehearse"], url_path="rehearsal", icon="groups"
    )
    def rehearse(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return rehearsal_page.page(self, request, sale_id=object_id)
