"""All that happened to an order, in one list: its own moments, payments, mails, refunds, documents, notes, the history.

The rows say what was done and when, the history of the admin who of the staff did it; what both tell is one entry.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from orders.models import ENDED_UNPAID, Mail, Order, Payment, PaymentEvent, Refund
from orders.shipping.carriers import tracking_url
from orders.staff.mail_admin import SEND_AGAIN, STATES, note_of, state_of
from orders.staff.order_sums import refund_name
from orders.staff.payment_admin import kind_of, outcome_of
from orders.staff.read_only_admin import amount_text
from shop.staff.history_pages import Entry, notes_of

# Beyond these the page would not be read. Older rows stay in the database.
NOTES_MAX = EVENTS_MAX = 200
# The admin writes its entry right after, or right before, the row that staff have changed.
SAME_MOMENT = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry. `links` are titles and addresses. `by_staff`: the history has an entry about it, too, with its author.

    `tone` is "good", "wait" or "bad", for those who look for what is open or went wrong.
    """

    at: datetime
    what: str
    text: str = ""
    by: str = ""
    tone: str = ""
    links: tuple[tuple[str | Promise, str], ...] = ()
    by_staff: bool = False
    is_note: bool = False


def timeline_of(order: Order, *, can_send_again: bool) -> list[Moment]:
    """Oldest first. The order was read with its rows (`OrderAdmin.get_object`); three queries more."""
    moments = [
        *of_the_order(order),
        *of_payments(order),
        *of_refunds(order),
        *of_documents(order),
        *(mail_moment(mail, can_send_again=can_send_again) for mail in order.mails.all()),
        *(
            Moment(note.made_at, _("Note"), note.text, by=str(note.made_by or ""), is_note=True)
            for note in order.notes.select_related("made_by")[:NOTES_MAX]
        ),
        *of_events(order),
    ]
    return sorted(with_history(moments, notes_of(Order, order.pk)), key=lambda moment: moment.at)


def of_the_order(order: Order) -> Iterator[Moment]:
    yield Moment(order.created_at, _("Placed"), order.contact_email)
    if order.shipped_at:
        parcel = " ".join(filter(None, (order.carrier, order.tracking_number)))
        url = tracking_url(carrier=order.carrier, tracking_number=order.tracking_number)
        links = ((_("Follow the parcel"), url),) if url else ()
        yield Moment(order.shipped_at, _("Parcel sent"), parcel, tone="good", links=links, by_staff=True)
    if order.ended_at and order.status in ENDED_UNPAID:
        yield Moment(order.ended_at, capfirst(order.get_status_display()), tone="bad", by_staff=True)


def of_payments(order: Order) -> Iterator[Moment]:
    for payment in order.payments.all():
        amount = amount_text(payment.amount_minor, payment.currency)
        about = joined(amount, payment.provider, payment.provider_reference)
        if payment.captured_at:
            yield Moment(payment.captured_at, _("Paid"), about, tone="good")
        is_open = payment.captured_at is None
        state = payment.get_status_display() if is_open else ""
        tone = "bad" if payment.status == Payment.Status.FAILED else "wait" if is_open else ""
        yield Moment(payment.created_at, _("Payment page"), joined(about, state, payment.last_error), tone=tone)
    if recorded := getattr(order, "recorded_payment", None):
        about = joined(amount_text(recorded.amount_minor, recorded.currency), recorded.reference)
        by = str(recorded.made_by or "")
        yield Moment(recorded.recorded_at, _("Payment recorded"), about, by=by, tone="good", by_staff=True)


def of_refunds(order: Order) -> Iterator[Moment]:
    tones = {Refund.Status.DUE: "wait", Refund.Status.FAILED: "bad"}
    for refund in order.refunds.all():
        amount = amount_text(refund.amount_minor, refund.currency)
        state = refund_name(refund) if refund.status == Refund.Status.DUE else refund.get_status_display()
        about = joined(amount, refund.reason, capfirst(state), refund.last_error)
        by, tone = str(refund.made_by or ""), tones.get(Refund.Status(refund.status), "")
        yield Moment(refund.created_at, _("Refund"), about, by=by, tone=tone, by_staff=not refund.is_surplus)
        if refund.ended_at:
            about = joined(amount, refund.provider_reference)
            yield Moment(refund.ended_at, capfirst(refund.get_status_display()), about, tone=tone or "good")


def of_documents(order: Order) -> Iterator[Moment]:
    for document in order.documents.all():
        about = joined(document.shown_number, amount_text(document.total_minor, document.currency))
        links = (
            (_("Print"), reverse("admin:orders_document_print", args=[document.pk])),
            ("PDF", reverse("admin:orders_document_pdf", args=[document.pk])),
        )
        kind = capfirst(document.get_kind_display())
        yield Moment(document.issued_at or document.made_at, kind, about, links=links)


def mail_moment(mail: Mail, *, can_send_again: bool) -> Moment:
    """At the time when it was sent, or else queued."""
    state = state_of(mail)
    links: list[tuple[str | Promise, str]] = [(_("Text"), reverse("admin:orders_mail_change", args=[mail.pk]))]
    if can_send_again and mail.next_attempt_at is None:
        links.append((SEND_AGAIN, reverse("admin:orders_mail_again", args=[mail.pk])))
    return Moment(
        mail.sent_at or mail.created_at,
        _("Mail: %(kind)s") % {"kind": mail.get_kind_display()},
        joined(str(STATES[state]), note_of(mail) if mail.last_error else ""),
        tone={"sent": "", "given_up": "bad"}.get(state, "wait"),
        links=tuple(links),
    )


def of_events(order: Order) -> Iterator[Moment]:
    """What the payment company reported."""
    payments = [payment.pk for payment in order.payments.all()]
    events: QuerySet[PaymentEvent] = PaymentEvent.objects.filter(payment_id__in=payments)
    for event in events[:EVENTS_MAX] if payments else ():
        about = joined(amount_text(event.amount_minor, event.currency), outcome_of(event))
        said = _("Reported by %(provider)s: %(kind)s") % {"provider": event.provider, "kind": kind_of(event)}
        page = reverse("admin:orders_paymentevent_change", args=[event.pk])
        yield Moment(event.received_at, said, about, links=((event.event_id, page),))


def with_history(moments: list[Moment], entries: list[Entry]) -> Iterator[Moment]:
    """The moments with the entries of the history. An entry about a moment gives it its words and its person."""
    pairs = [
        (abs(entry.at - moment.at), place, number)
        for place, moment in enumerate(moments)
        for number, entry in enumerate(entries)
        if moment.by_staff and abs(entry.at - moment.at) < SAME_MOMENT
    ]
    # The nearest first: a person may press two buttons within the time.
    entry_of: dict[int, int] = {}
    for _apart, place, number in sorted(pairs):
        if place not in entry_of and number not in entry_of.values():
            entry_of[place] = number
    for place, moment in enumerate(moments):
        if place in entry_of:
            entry = entries[entry_of[place]]
            yield replace(moment, text=joined(entry.kind, moment.text), by=entry.by)
        else:
            yield moment
    for number, entry in enumerate(entries):
        if number not in entry_of.values():
            yield Moment(entry.at, entry.kind, by=entry.by)


def joined(*parts: Any) -> str:
    return " · ".join(str(part) for part in parts if part)
