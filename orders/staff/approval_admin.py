"""The requests for approval in the admin: a list, and a page on which another person decides."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from orders.approvals.approval_requests import RIGHTS, Kind, Status, decide
from orders.approvals.approved_changes import carry_out
from orders.models import ApprovalRequest, Order, waiting_requests
from orders.staff.read_only_admin import ReadOnlyAdmin, amount_text, may_see_orders
from seckill.models import Sale
from seckill.staff.permissions import may_see_sales

LABELS = {
    Status.WAITING: "warning",
    Status.APPROVED: "info",
    Status.DONE: "success",
    Status.REFUSED: "danger",
    Status.DECLINED: "danger",
    Status.EXPIRED: "default",
}


def may_see_approvals(request: HttpRequest) -> bool:
    return may_see_orders(request) or may_see_sales(request)


class DecisionForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=300,
        help_text=gettext_lazy("Recorded with your name and the time."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


class StatusFilter(admin.SimpleListFilter):
    """Without a choice, all of them; those that wait come first."""

    title = gettext_lazy("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, Any]]:
        return list(Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
        late = Q(status=Status.WAITING, expires_at__lte=Now())
        if self.value() == Status.WAITING:
            return queryset.filter(status=Status.WAITING).exclude(late)
        if self.value() == Status.EXPIRED:
            return queryset.filter(Q(status=Status.EXPIRED) | late)
        return queryset.filter(status=self.value()) if self.value() in Status else queryset


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    list_title = gettext_lazy("Approvals")
    when_empty = gettext_lazy("Nothing waits for a second person.")
    list_display = ["what", "subject_link", "reason", "asked_by", "asked_at", "status_label", "decided_by"]
    list_display_links = ["what"]
    list_filter = [StatusFilter, "kind"]
    list_select_related = ["asked_by", "decided_by"]
    search_fields = ["subject", "reason", "asked_by__username", "decided_by__username"]
    actions = None

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_see_approvals(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApprovalRequest]:
        """Requests about orders are for those who may see orders, and those about sales likewise."""
        kinds = [Kind.REFUND] if may_see_orders(request) else []
        kinds += [Kind.ADD_UNITS, Kind.PUBLISH] if may_see_sales(request) else []
        requests: QuerySet[ApprovalRequest] = super().get_queryset(request)
        return requests.filter(kind__in=kinds)

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **kwargs: object) -> HttpResponse:
        """The figures that were asked for; a POST of another person with the right for it decides."""
        if not may_see_approvals(request):
            raise PermissionDenied
        found: ApprovalRequest | None = self.get_object(request, object_id)
        if found is None:
            raise Http404
        may_decide = request.user.has_perm(RIGHTS[Kind(found.kind)]) and found.asked_by_id != request.user.pk
        form = DecisionForm(request.POST if request.method == "POST" else None)
        if request.method == "POST":
            if not may_decide:
                raise PermissionDenied
            if form.is_valid() and ("approve" in request.POST or "decline" in request.POST):
                self.decide(request, found, is_approved="approve" in request.POST, reason=form.cleaned_data["reason"])
                return redirect(request.path)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": str(found),
            "asked": found,
            "status": status_of(found),
            "colour": LABELS[status_of(found)],
            "what": self.what(found),
            "subject_link": self.subject_link(found),
            "may_decide": may_decide and found.is_waiting,
            "is_own": found.asked_by_id == request.user.pk and found.is_waiting,
            "form": form,
            "back_url": reverse("admin:orders_approvalrequest_changelist"),
        }
        return TemplateResponse(request, "admin/orders/approval/page.html", context)

    def decide(self, request: HttpRequest, found: ApprovalRequest, *, is_approved: bool, reason: str) -> None:
        """Decide, carry out what was approved, and say what came of it."""
        decided_by = cast(User, request.user)
        if not decide(request_id=found.pk, decided_by=decided_by, is_approved=is_approved, reason=reason):
            self.message_user(request, _("This request no longer waits. Nothing was changed."), messages.WARNING)
            return
        values = {"what": self.what(found), "person": found.asked_by, "reason": reason}
        if subject := subject_of(found):
            text = _("Approved the request of %(person)s (%(what)s): %(reason)s")
            self.log_change(
                request,
                subject,
                text % values
                if is_approved
                else _("Declined the request of %(person)s (%(what)s): %(reason)s") % values,
            )
        if not is_approved:
            self.message_user(request, _("Declined. Nothing was changed."), messages.SUCCESS)
            return
        done = carry_out(found.pk)
        if done.status == Status.REFUSED:
            text = _("Approved, but no longer possible. %(outcome)s") % {"outcome": done.outcome}
            self.message_user(request, text, messages.ERROR)
        else:
            self.message_user(request, f"{_('Approved and carried out.')} {done.outcome}".strip(), messages.SUCCESS)

    @admin.display(description=gettext_lazy("change"), ordering="kind")
    def what(self, asked: ApprovalRequest) -> str:
        details = asked.details
        if asked.kind == Kind.REFUND:
            return _("refund %(amount)s") % {"amount": amount_text(details["amount_minor"], details["currency"])}
        if asked.kind == Kind.ADD_UNITS:
            return ngettext("add %(units)d unit", "add %(units)d units", details["units"]) % {"units": details["units"]}
        return asked.get_kind_display()

    @admin.display(description=gettext_lazy("of"), ordering="subject")
    def subject_link(self, asked: ApprovalRequest) -> SafeString:
        return format_html('<a href="{}" class="text-link">{}</a>', address_of(asked), asked.subject)

    @display(description=gettext_lazy("status"), ordering="status", label=LABELS)  # type: ignore[untyped-decorator]
    def status_label(self, asked: ApprovalRequest) -> tuple[str, str]:
        status = status_of(asked)
        return status, str(status.label)


def status_of(asked: ApprovalRequest) -> ApprovalRequest.Status:
    """A request whose time is over counts as expired, also before the sweep has noted it."""
    is_late = asked.status == Status.WAITING and not asked.is_waiting
    return Status.EXPIRED if is_late else Status(asked.status)


def subject_of(asked: ApprovalRequest) -> Order | Sale | None:
    """Into whose history the decision is written. None: a draft that was deleted."""
    if asked.kind == Kind.REFUND:
        return Order.objects.filter(pk=asked.subject_id).first()
    if asked.kind == Kind.ADD_UNITS:
        return Sale.objects.filter(items=asked.subject_id).first()
    return Sale.objects.filter(pk=asked.subject_id).first()


def address_of(asked: ApprovalRequest) -> str:
    if asked.kind == Kind.ADD_UNITS:
        return reverse("admin:seckill_sale_change", args=[asked.details["sale_id"]])
    page = "orders_order_change" if asked.kind == Kind.REFUND else "seckill_sale_change"
    return reverse(f"admin:{page}", args=[asked.subject_id])


def badge() -> str:
    """For the sidebar, how many wait; empty if none."""
    return str(waiting_requests().count() or "")
