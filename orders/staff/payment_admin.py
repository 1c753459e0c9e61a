"""The list of payment events."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from orders.models import Order, Payment, PaymentEvent
from orders.payments.inbox import FOR_STAFF, EventOutcome, mark_dealt_with
from orders.payments.provider.interface import EventKind
from orders.payments.provider.names import ProviderName
from orders.staff.bounded_choice import limited_selection
from orders.staff.order_search import uuids_from, with_code
from orders.staff.read_only_admin import ReadOnlyAdmin, amount_text, link_to

KINDS: dict[str, Any] = {
    EventKind.CAPTURED: _("captured"),
    EventKind.DECLINED: pgettext_lazy("payment event", "declined"),
    EventKind.EXPIRED: pgettext_lazy("payment event", "expired"),
    EventKind.REFUNDED: _("refunded"),
    EventKind.REFUND_FAILED: _("refund failed"),
    EventKind.REFUND_PAID: _("refund completed"),
    EventKind.REFUNDED_SO_FAR: _("refunded so far"),
}

OUTCOMES: dict[str, Any] = {
    EventOutcome.DUPLICATE: _("duplicate"),
    EventOutcome.WAITING: _("waiting for its payment"),
    EventOutcome.NOTHING: _("no change"),
    EventOutcome.PAID: _("order paid"),
    EventOutcome.PAID_TWICE: _("paid twice, refunding"),
    EventOutcome.ONE_EACH: _("second purchase, refunding"),
    EventOutcome.AMOUNT_DIFFERS: _("wrong amount, refunding"),
    EventOutcome.LATE: _("arrived late"),
    EventOutcome.REFUND_STARTED: _("refunding"),
    EventOutcome.FAILED: _("payment failed"),
    EventOutcome.REFUNDED: _("refund completed"),
    EventOutcome.REFUND_FAILS: _("refund failed"),
    EventOutcome.NO_CAPTURE: _("no payment was reported"),
    EventOutcome.DEALT_WITH: _("dealt with by staff"),
}


class WaitingFilter(admin.SimpleListFilter):
    title = _("applied")
    parameter_name = "applied"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("no", _("waiting for its payment")), ("yes", _("applied"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[PaymentEvent]) -> QuerySet[PaymentEvent]:
        if self.value() is None:
            return queryset
        return queryset.filter(applied_at__isnull=self.value() == "no")


@admin.register(PaymentEvent)
class PaymentEventAdmin(ReadOnlyAdmin):
    list_display = ["received_at", "kind_text", "outcome_text", "paid", "order", "provider", "event_id"]
    list_filter = [WaitingFilter, "provider"]
    # Newest first. Any other order would sort all events for each page.
    sortable_by = ()
    # Without fields there would be no search box; `get_search_results` does the search.
    search_fields = ["event_id"]
    search_help_text = _("Payment, order number, or the whole event or reference at the provider")
    fields = [
        ("provider", "event_id"),
        ("kind_text", "outcome_text"),
        ("paid", "order"),
        ("payment_id", "provider_reference"),
        ("happened_at", "received_at"),
        "applied_at",
    ]
    readonly_fields = ["kind_text", "outcome_text", "paid", "order"]
    actions = ["mark_dealt_with"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[PaymentEvent]:
        """The events with pk and code of their order: a query for each row would make a hundred."""
        orders = Order.objects.filter(payments__pk=OuterRef("payment_id"))
        events: QuerySet[PaymentEvent] = super().get_queryset(request)
        return events.annotate(order_id=Subquery(orders.values("pk")), order_code=Subquery(orders.values("code")))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[PaymentEvent], search_term: str
    ) -> tuple[QuerySet[PaymentEvent], bool]:
        """Search by whole references and beginnings of numbers, which have indexes."""
        text = search_term.strip()
        if not text:
            return queryset, False
        providers = list(ProviderName)
        payments = Payment.objects.filter(
            Q(provider__in=providers, provider_reference=text) | Q(order__in=Order.objects.filter(with_code(text)))
        )
        found = Q(provider__in=providers, event_id=text) | Q(payment_id__in=list(payments.values_list("pk", flat=True)))
        if bounds := uuids_from(text):
            found |= Q(payment_id__range=bounds)
        return queryset.filter(found), False

    @admin.action(description=_("Mark as dealt with"), permissions=["manage"])
    def mark_dealt_with(self, request: HttpRequest, queryset: QuerySet[PaymentEvent]) -> None:
        """End the wait of events whose payment the shop does not know. The history says who did so."""
        choice = limited_selection(queryset, possible=FOR_STAFF)
        ended = [event for event in PaymentEvent.objects.filter(pk__in=choice.pks) if mark_dealt_with(event.pk)]
        for event in ended:
            self.log_change(request, event, gettext("Marked as dealt with."))
        said = ngettext("%(count)d event is dealt with.", "%(count)d events are dealt with.", len(ended))
        self.message_user(request, said % {"count": len(ended)}, messages.SUCCESS)
        if len(ended) < len(choice.pks):
            self.message_user(
                request,
                gettext("Only events of unknown payments that have waited for an hour can be marked."),
                messages.WARNING,
            )
        if choice.not_all:
            self.message_user(request, choice.not_all, messages.WARNING)

    @display(description=_("kind"), ordering="kind")  # type: ignore[untyped-decorator]
    def kind_text(self, event: PaymentEvent) -> str:
        return kind_of(event)

    @display(description=_("outcome"), ordering="outcome")  # type: ignore[untyped-decorator]
    def outcome_text(self, event: PaymentEvent) -> str:
        return outcome_of(event)

    @admin.display(description=_("amount"))
    def paid(self, event: PaymentEvent) -> str:
        return amount_text(event.amount_minor, event.currency)

    @admin.display(description=_("order"))
    def order(self, event: Any) -> str:
        return link_to(Order(pk=event.order_id, code=event.order_code)) if event.order_id else "–"


def kind_of(event: PaymentEvent) -> str:
    """A kind that this release does not know is shown unchanged."""
    return str(KINDS.get(event.kind, event.kind))


def outcome_of(event: PaymentEvent) -> str:
    known = event.outcome if event.applied_at else EventOutcome.WAITING
    return str(OUTCOMES.get(known, known))
