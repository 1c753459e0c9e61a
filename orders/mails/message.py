"""The text of mails about an order, in the buyer's language. `orders/mails/sending.py` sends them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from orders.models import SOLD, Mail, Order, OrderStatus, Payment
from shop.buyer_language import language_of
from shop.templatetags.amounts import money
from shop.zone import named_time


@dataclass(frozen=True, kw_only=True)
class MailText:
    """The subject and the sentences of a mail; each sentence is a paragraph."""

    subject: str
    sentences: list[str]


def message_of(mail: Mail) -> EmailMultiAlternatives | None:
    """The message, ready to be sent. None if the mail is out of date: what it would say is no longer true.

    Its Message-ID is always the same, so that mail programs show a mail that was sent again after a crash only once.
    """
    order = mail.order
    with translation.override(language_of_order(order)):
        text = MAIL_TEXTS[Mail.Kind(mail.kind)](order)
        if text is None:
            return None
        context = {
            "text": text,
            "order": order,
            "language": translation.get_language(),
            "facts": facts_of(order),
            "url": settings.SHOP_URL + order.get_absolute_url(),
        }
        message = EmailMultiAlternatives(
            subject=text.subject,
            body=render_to_string("orders/mail/message.txt", context),
            to=[order.contact_email],
            headers={
                "Message-ID": f"<{order.number}.{mail.kind}@{urlsplit(settings.SHOP_URL).hostname}>",
                "Auto-Submitted": "auto-generated",
            },
        )
        message.attach_alternative(render_to_string("orders/mail/message.html", context), "text/html")
        return message


def language_of_order(order: Order) -> str:
    """A buyer's present language; the one in which a guest ordered."""
    return language_of(user_id=order.buyer_id) if order.buyer_id else order.language or settings.LANGUAGE_CODE


def confirmation(order: Order) -> MailText | None:
    """Sent even if the order was refunded since: the buyer then gets both mails, in the order of events."""
    amount = money(order.amount_minor, order.currency)
    sentences = [_("We have received your payment of %(amount)s. Thank you!") % {"amount": amount}]
    if order.paid_late:
        sentences.append(_("It arrived after the payment deadline, but units were still left, so your order stands."))
    return MailText(subject=_("Payment received: %(what)s") % {"what": contents(order)}, sentences=sentences)


def expiry(order: Order) -> MailText | None:
    if order.status in SOLD:
        # The late payment was accepted meanwhile; the confirmation says so.
        return None
    subject = _("Order expired: %(what)s") % {"what": contents(order)}
    sentences = [
        _("You had until %(deadline)s to pay. The order has expired, and the units went back on sale.")
        % {"deadline": time_text(order.expires_at)}
    ]
    if order.late_payment_undecided:
        sentences.append(_("Your payment arrived after that. We are checking availability and will email you."))
    elif order.payment_unknown:
        sentences.append(_("You had opened a payment page, and we do not know yet whether you paid there."))
        sentences.append(_("If you did, you get either your order or a full refund."))
    elif order.status == OrderStatus.EXPIRED:
        sentences.append(_("Nothing was charged."))
    else:
        sentences.append(
            _("Your payment arrived after that. We will refund it in full. You do not need to do anything.")
        )
    return MailText(subject=subject, sentences=sentences)


def refund(order: Order) -> MailText | None:
    amount = money(refunded_minor(order), order.currency)
    sentences = [_("We have refunded %(amount)s to your original payment method.") % {"amount": amount}]
    if order.paid_late:
        sentences.append(_("Your payment arrived after the order had ended."))
    sentences.append(_("It may take a few days to appear in your account."))
    return MailText(subject=_("Refund: %(what)s") % {"what": contents(order)}, sentences=sentences)


MAIL_TEXTS: dict[Mail.Kind, Callable[[Order], MailText | None]] = {
    Mail.Kind.PAID: confirmation,
    Mail.Kind.EXPIRED: expiry,
    Mail.Kind.REFUNDED: refund,
}


def facts_of(order: Order) -> list[tuple[str, str]]:
    """The table in the mail: what was bought, the total, when, and the order number."""
    return [
        *((str(line), money(line.amount_minor, order.currency)) for line in order.lines.all()),
        (_("Total"), money(order.amount_minor, order.currency)),
        (_("Reserved at"), time_text(order.reserved_at)),
        (_("Order number"), str(order.number)),
    ]


def refunded_minor(order: Order) -> int:
    """What providers refunded, which may differ from the order's amount; without a provider, the order's amount."""
    refunded = [payment.amount_minor for payment in order.payments.all() if payment.status == Payment.Status.REFUNDED]
    return sum(refunded) or order.amount_minor


def contents(order: Order) -> str:
    return ", ".join(str(line) for line in order.lines.all())


def time_text(at: datetime) -> str:
    """A time in the shop's time zone, which is named, since the reader may be in another one."""
    with timezone.override(None):
        return named_time(at)
