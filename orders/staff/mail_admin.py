"""Mails in the admin: sent, due, and those that could not be sent."""

import re
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display

from orders.mails import sending
from orders.mails.message import message_of
from orders.models import Mail, Order
from orders.staff.bounded_choice import limited_selection
from orders.staff.order_search import SEARCH_HELP, find_orders
from orders.staff.read_only_admin import ReadOnlyAdmin, link_to
from shop.staff.admin_base import once_for_each_row

SEND_AGAIN = _("Send again")

STATES = {
    "sent": _("sent"),
    "due": _("due"),
    "later": _("will be retried"),
    "given_up": _("not sent"),
}
LABELS = {"sent": "success", "due": "info", "later": "warning", "given_up": "danger"}

# Codes in `last_error`, and how they are shown.
NOTES = {
    sending.NO_ADDRESS: _("The buyer has no address."),
    sending.OVERTAKEN: _("No longer applies: the order has moved on."),
    sending.TOO_MANY: _("This address had too many such mails today."),
}

IN_STATE = {
    "sent": Q(sent_at__isnull=False),
    "due": Q(sent_at=None, attempts=0, next_attempt_at__isnull=False),
    "later": Q(sent_at=None, attempts__gt=0, next_attempt_at__isnull=False),
    "given_up": Q(sent_at=None, next_attempt_at=None),
}


def state_of(mail: Mail) -> str:
    if mail.sent_at:
        return "sent"
    if mail.next_attempt_at is None:
        return "given_up"
    return "later" if mail.attempts else "due"


def note_of(mail: Mail) -> str:
    return str(NOTES.get(mail.last_error, mail.last_error or "–"))


def answer_text(answer: str, count: int) -> str:
    """What staff read about so many mails that they wanted to be sent."""
    if answer in NOTES:
        text = ngettext(
            "%(count)d mail cannot be sent. %(reason)s", "%(count)d mails cannot be sent. %(reason)s", count
        )
        return text % {"count": count, "reason": NOTES[answer]}
    text = {
        sending.DUE_NOW: ngettext(
            "%(count)d mail will be sent in a moment.", "%(count)d mails will be sent in a moment.", count
        ),
        sending.BEING_SENT: ngettext(
            "%(count)d mail is just being sent.", "%(count)d mails are just being sent.", count
        ),
        sending.ALREADY_SENT: ngettext(
            "%(count)d mail was already sent and will not be sent again.",
            "%(count)d mails were already sent and will not be sent again.",
            count,
        ),
    }[answer]
    return text % {"count": count}


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(STATES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Mail]) -> QuerySet[Mail]:
        return queryset.filter(IN_STATE.get(self.value() or "", Q()))


@admin.register(Mail)
class MailAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "kind", "state", "buyer", "order_link", "sent_at", "attempts", "note"]
    list_filter = [StateFilter, "kind"]
    list_select_related = ["order__buyer"]
    # Newest first. Any other order would sort all mails for each page.
    sortable_by = ()
    # Without fields there would be no search box; `get_search_results` does the search.
    search_fields = ["order__code"]
    search_help_text = SEARCH_HELP
    actions = ["send_again"]
    fields = [
        ("order_link", "buyer"),
        ("kind", "state_text"),
        ("created_at", "sent_at"),
        ("attempts", "next_attempt_at"),
        "note",
        "text",
    ]
    readonly_fields = ["order_link", "buyer", "state_text", "note", "text"]
    change_form_outer_before_template = "admin/orders/order/buttons.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.send_again_view)
        return [path("<int:mail_id>/again/", view, name="orders_mail_again"), *super().get_urls()]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Mail | None:
        return sending.with_contents().filter(pk=self.pk_of(object_id)).first()

    def page_context(self, request: HttpRequest, obj: Mail | None) -> dict[str, Any]:
        again = {"title": SEND_AGAIN, "url": reverse("admin:orders_mail_again", args=[obj.pk])} if obj else {}
        can = obj is not None and obj.next_attempt_at is None and self.has_manage_permission(request)
        return {**super().page_context(request, obj), "buttons": [again] if can else []}

    def send_again_view(self, request: HttpRequest, mail_id: int) -> HttpResponse:
        """Ask first; a POST sends it. The history of the order says who did so."""
        mail = self.get_object(request, str(mail_id))
        if not self.has_manage_permission(request):
            raise PermissionDenied
        if mail is None:
            raise Http404
        what = {"kind": mail.get_kind_display(), "address": mail.order.contact_email}
        page = reverse("admin:orders_mail_change", args=[mail.pk])
        if request.method != "POST":
            sentence = _("%(address)s gets this mail again: %(kind)s.") % what
            return self.ask_with_form(
                request, mail.order, forms.Form(), title=SEND_AGAIN, sentence=sentence, back_url=page
            )
        answer = sending.send_again(mail=mail)
        if answer in NOTES:
            self.message_user(request, str(NOTES[answer]), messages.WARNING)
        elif answer == sending.DUE_NOW:
            self.log_sent_again(request, mail)
            self.message_user(request, str(_("The mail will be sent in a moment.")), messages.SUCCESS)
        else:
            self.message_user(request, str(_("The mail is due anyway.")), messages.INFO)
        return redirect(page)

    def log_sent_again(self, request: HttpRequest, mail: Mail) -> None:
        """Without the address: the history is kept for longer than the account."""
        self.log_change(request, mail.order, str(_("Mail sent again: %(kind)s.") % {"kind": mail.get_kind_display()}))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Mail], search_term: str
    ) -> tuple[QuerySet[Mail], bool]:
        """The mails of the orders that the list of orders would find."""
        if search_term.strip():
            orders = find_orders(Order.objects.all(), search_term)
            queryset = queryset.filter(order__in=list(orders.values_list("pk", flat=True)))
        return queryset, False

    @display(description=_("state"), label=LABELS)  # type: ignore[untyped-decorator]
    def state(self, mail: Mail) -> tuple[str, str]:
        state = state_of(mail)
        return state, str(STATES[state])

    @admin.display(description=_("state"))
    def state_text(self, mail: Mail) -> str:
        return str(STATES[state_of(mail)])

    @admin.display(description=_("order"))
    def order_link(self, mail: Mail) -> str:
        return link_to(mail.order)

    @admin.display(description=_("buyer"))
    def buyer(self, mail: Mail) -> str:
        buyer, email = mail.order.buyer, mail.order.contact_email
        if buyer is None:
            return email
        return f"{buyer.get_username()} <{email}>" if email else buyer.get_username()

    @admin.display(description=_("note"))
    def note(self, mail: Mail) -> str:
        return note_of(mail)

    @admin.display(description=_("text"))
    @once_for_each_row
    def text(self, mail: Mail) -> SafeString | str:
        """As it would be sent now. A guest's link is as good as a key, so staff do not see it."""
        message = message_of(mail)
        if message is None:
            return str(NOTES[sending.OVERTAKEN])
        body = re.sub(rf"{re.escape(settings.SHOP_URL)}/\S*", "…", str(message.body))
        return format_html('<b>{}</b><div class="mail-text">{}</div>', message.subject, body)

    @admin.action(description=_("Retry sending"), permissions=["manage"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Mail]) -> None:
        choice = limited_selection(queryset, possible=Q(sent_at=None))
        note = partial(self.log_sent_again, request)
        for answer, count in sending.retry_unsent(mail_ids=choice.pks, on_due=note).items():
            level = messages.SUCCESS if answer == sending.DUE_NOW else messages.WARNING
            self.message_user(request, answer_text(answer, count), level)
        if choice.not_all:
            self.message_user(request, choice.not_all, messages.WARNING)
