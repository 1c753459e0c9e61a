"""What a mail about an order says, in the language of its buyer. `orders/mails/sending.py` sends it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from babel.dates import format_datetime
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from orders.models import SOLD, Mail, Order, OrderStatus, Payment
from shop.buyer_language import language_of
from shop.templatetags.amounts import money


@dataclass(frozen=True, kw_only=True)
class MailText:
    """The text of a mail: a subject and sentences; each sentence is a paragraph."""

    subject: str
    sentences: list[str]


def message_of(mail: Mail) -> EmailMultiAlternatives | None:
    """The mail to its buyer, ready to be sent. None where it has been overtaken: it would say what is no longer so.

    Its Message-ID is the same each time, so that a mail program shows a repetition after a crash as one mail.
    """
    order = mail.order
    with translation.override(language_of(user_id=order.buyer_id)):
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
            to=[order.buyer.email],
            headers={
                "Message-ID": f"<{order.number}.{mail.kind}@{urlsplit(settings.SHOP_URL).hostname}>",
                "Auto-Submitted": "auto-generated",
            },
        )
        message.attach_alternative(render_to_string("orders/mail/message.html", context), "text/html")
        return message


def confirmation(order: Order) -> MailText | None:
    """Also where the order was refunded since: the buyer then gets both, in the order in which it happened."""
    amount = money(order.amount_minor, order.currency)
    sentences = [_("We have received your payment of %(amount)s. Thank you!") % {"amount": amount}]
    if order.paid_late:
        sentences.append(_("It arrived after the payment deadline, but units were still left, so your order stands."))
    return MailText(subject=_("Payment received: %(what)s") % {"what": what(order)}, sentences=sentences)


def expiry(order: Order) -> MailText | None:
    if order.status in SOLD:
        # Paid late meanwhile, and the confirmation says so.
        return None
    subject = _("Order expired: %(what)s") % {"what": what(order)}
    sentences = [
        _("You had until %(deadline)s to pay. The order has expired, and the units went back on sale.")
        % {"deadline": moment(order.expires_at)}
    ]
    if order.late_payment_undecided:
        sentences.append(_("Your payment arrived after that. We are checking availability and will email you."))
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
    return MailText(subject=_("Refund: %(what)s") % {"what": what(order)}, sentences=sentences)


MAIL_TEXTS: dict[Mail.Kind, Callable[[Order], MailText | None]] = {
    Mail.Kind.PAID: confirmation,
    Mail.Kind.EXPIRED: expiry,
    Mail.Kind.REFUNDED: refund,
}


def facts_of(order: Order) -> list[tuple[str, str]]:
    """What was bought, the total, and the number under which staff find the order."""
    return [
        *((str(line), money(line.amount_minor, order.currency)) for line in order.lines.all()),
        (_("Total"), money(order.amount_minor, order.currency)),
        (_("Reserved at"), moment(order.reserved_at)),
        (_("Order number"), str(order.number)),
    ]


def refunded_minor(order: Order) -> int:
    """What went back through providers, which may differ from what was due; or else the order's amount."""
    refunded = [payment.amount_minor for payment in order.payments.all() if payment.status == Payment.Status.REFUNDED]
    return sum(refunded) or order.amount_minor


def what(order: Order) -> str:
    return ", ".join(str(line) for line in order.lines.all())


def moment(at: datetime) -> str:
    """A time in the shop's zone, with the zone's name: nobody knows where a mail is read."""
    locale = translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)
    return format_datetime(at, "long", tzinfo=timezone.get_default_timezone(), locale=locale)
