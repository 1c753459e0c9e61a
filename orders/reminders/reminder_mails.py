"""Sending reminders: one mail each, and the row goes with it. How mails are claimed: shop/mails/outgoing_mail.py."""

from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.utils import translation
from django.utils.translation import gettext as _

from orders.mails.mail_parts import time_text
from orders.models import Reminder
from orders.reminders.reminder_target import target_of
from orders.reminders.subscribing import follow_account, stop_url, with_targets
from seckill.models import Sale
from shop.accounts.mail_texts import AccountMailText, message_from
from shop.databases.database_clock import database_now
from shop.languages.page_language import path_in
from shop.mails.outgoing_mail import Attempt, Delivery, claim_due, hand_over, headers_of, send_each

# The pauses are 1, 2, 4 and 8 minutes: later, the sale has opened.
ATTEMPTS_MAX = 5


def send_due(*, seconds_max: float) -> int:
    """Send the reminders that are due until there are none, the time is up or the server is away. Returns how many."""
    return send_each(claim_next=claim_next, deliver=deliver, seconds_max=seconds_max)


def claim_next() -> Reminder | None:
    due = Reminder.objects.filter(next_attempt_at__isnull=False, confirmed_at__isnull=False)
    pk = claim_due(due)
    return None if pk is None else find(pk)


def find(pk: int) -> Reminder | None:
    return with_targets().select_related("user").filter(pk=pk).first()


def deliver(reminder: Reminder, server: Any) -> Delivery:
    """Send one claimed reminder, unless it is not true any more: then it waits again, or is removed."""
    row = Reminder.objects.filter(pk=reminder.pk)
    variant = reminder.variant
    if variant is not None and not (variant.available and variant.is_active and variant.product.is_active):
        row.update(next_attempt_at=None, attempts=0)
        return Delivery.NOT_SENT
    sale = reminder.sale or (reminder.item.sale if reminder.item else None)
    # Into a draw people enter until the opening.
    if sale is not None and (sale.opens_at if sale.has_draw else sale.closes_at) <= database_now():
        row.delete()
        return Delivery.NOT_SENT
    if reminder.user_id is not None:
        follow_account(reminder.user_id)
        moved = find(reminder.pk)
        if moved is None:
            return Delivery.NOT_SENT
        reminder = moved
    attempt = Attempt("reminder", {"reminder": str(reminder.uid)}, row, reminder.attempts, ATTEMPTS_MAX)
    outcome = hand_over(message_of(reminder), server=server, attempt=attempt)
    if outcome is Delivery.SENT:
        row.delete()
    return outcome


def message_of(reminder: Reminder) -> EmailMultiAlternatives:
    stop = stop_url(reminder)
    with translation.override(reminder.language):
        message = message_from(text_of(reminder, stop=stop), to=reminder.email)
    message.extra_headers |= {
        **headers_of(f"reminder.{reminder.uid}"),
        # RFC 8058: mail programs show a button that stops them.
        "List-Unsubscribe": f"<{stop}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    return message


def text_of(reminder: Reminder, *, stop: str) -> AccountMailText:
    target = target_of(reminder)
    if reminder.sale is not None and reminder.sale.opens_at > database_now():
        subject, sentence, more = texts_before_opening(reminder.sale, name=target.name)
    elif reminder.sale is not None:
        subject = _("“%(what)s” is open") % {"what": target.name}
        sentence = _("You asked us to remind you: “%(what)s” has opened.") % {"what": target.name}
        more = ""
    else:
        subject = _("Available again: %(what)s") % {"what": target.name}
        sentence = _("You asked us to tell you: “%(what)s” is available again.") % {"what": target.name}
        more = _("Others have asked too, so it may be gone again soon. This mail reserves nothing.")
    return AccountMailText(
        subject=subject,
        name=reminder.user.get_username() if reminder.user else "",
        sentences=[sentence, *([more] if more else [])],
        button=_("To the sale") if reminder.variant is None else _("To the product"),
        url=settings.SHOP_URL + path_in(reminder.language, target.path),
        if_not_you=_("This is the only mail about it. To get no reminders at all: %(url)s") % {"url": stop},
    )


def texts_before_opening(sale: Sale, *, name: str) -> tuple[str, str, str]:
    """Subject, sentence, and what the reader should do."""
    names = {"what": name, "time": time_text(sale.opens_at)}
    if sale.has_draw:
        return (
            _("Enter the draw “%(what)s” until %(time)s") % names,
            _("You asked us to remind you: the draw “%(what)s” takes entries until %(time)s.") % names,
            _("Enter on the page of the sale before then. The units are drawn afterwards, and we write to you."),
        )
    if sale.has_room:
        more = _(
            "The sale has a waiting room, which opens some minutes before. Sign in and get your place there: places "
            "are drawn at the opening, and those who come later are behind."
        )
    else:
        more = _("Sign in before, and press the button on the page of the sale: it reserves for you at the opening.")
    sentence = _("You asked us to remind you: “%(what)s” opens at %(time)s.") % names
    return _("“%(what)s” opens at %(time)s") % names, sentence, more
