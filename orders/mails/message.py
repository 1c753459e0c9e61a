"""The text of mails about an order, in the buyer's language. `orders/mails/sending.py` sends them."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from orders.mails.mail_parts import facts_of, lines_of, sums_of, time_text
from orders.models import SOLD, Mail, Order, OrderStatus
from shop.languages.buyer_language import language_of
from shop.mails.outgoing_mail import headers_of, subject_line
from shop.templatetags.amounts import money


@dataclass(frozen=True, kw_only=True)
class MailText:
    """The subject, the heading and the sentences of a mail; each sentence is a paragraph."""

    subject: str
    heading: str
    sentences: list[str]


def message_of(mail: Mail) -> EmailMultiAlternatives | None:
    """The message, ready to be sent. None if the mail is out of date: what it would say is no longer true.

    Its Message-ID is always the same, so that mail programs show a mail that was sent again after a crash only once.
    """
    order = mail.order
    with translation.override(language_of_order(order)):
        text = MAIL_TEXTS[Mail.Kind(mail.kind)](mail)
        if text is None:
            return None
        context = {
            "text": text,
            "order": order,
            "name": name_of(order),
            "language": translation.get_language(),
            "lines": lines_of(order),
            "sums": list(sums_of(order)),
            "facts": list(facts_of(order)),
            "url": order.full_url,
            "shop_name": settings.SHOP_NAME,
            "shop_url": settings.SHOP_URL,
        }
        message = EmailMultiAlternatives(
            subject=subject_line(text.subject),
            body=render_to_string("orders/mail/message.txt", context),
            to=[order.contact_email],
            headers=headers_of(f"{order.number}.{message_name(mail)}") | {"Purchase-ID": str(order.purchase)},
        )
        message.attach_alternative(render_to_string("orders/mail/message.html", context), "text/html")
        return message


def is_overtaken(mail: Mail) -> bool:
    """Whether the mail is out of date."""
    with translation.override(language_of_order(mail.order)):
        return MAIL_TEXTS[Mail.Kind(mail.kind)](mail) is None


def message_name(mail: Mail) -> str:
    """A link may be asked for again, a number corrected, any mail sent again, and each refund has a mail of its own."""
    about = f"-{mail.refund_id.hex}" if mail.refund_id else ""
    return f"{mail.kind}{about}-{mail.created_at:%Y%m%d%H%M%S%f}"


def name_of(order: Order) -> str:
    if order.buyer:
        return order.buyer.get_username()
    address = getattr(order, "shipping_address", None)
    return address.name if address else order.email


def language_of_order(order: Order) -> str:
    """A buyer's present language; the one in which a guest ordered."""
    return language_of(user_id=order.buyer_id) if order.buyer_id else order.language or settings.LANGUAGE_CODE


def reception(mail: Mail) -> MailText | None:
    """Tells a guest the number and the link, which is the only way to the order."""
    order = mail.order
    if order.status != OrderStatus.AWAITING_PAYMENT:
        # The confirmation, or the mail about the expiry, has number and link too.
        return None
    sentences = [
        _("We have received your order. Please pay by %(deadline)s: until then your units are held.")
        % {"deadline": time_text(order.expires_at)},
        private_link(),
        _("If you have not ordered, somebody has mistyped an address. Then you need not do anything."),
    ]
    subject = _("Order %(code)s: %(what)s") % {"code": order.shown_code, "what": order.contents}
    return MailText(subject=subject, heading=_("Please pay for your order"), sentences=sentences)


def private_link() -> str:
    return _(
        "Here is the link to your order. Anyone who has it can see, pay and cancel the order, and change its delivery "
        "address, so keep it private."
    )


def winning(mail: Mail) -> MailText | None:
    """Units were drawn for the buyer, or were passed on by another winner."""
    order = mail.order
    if order.status != OrderStatus.AWAITING_PAYMENT:
        return None
    sentences = [
        _("Your entry has won. Your units are held until %(deadline)s: please pay by then.")
        % {"deadline": time_text(order.expires_at)},
        _("If you do not pay, they go to the next in the drawn order."),
    ]
    subject = _("You have won in the draw: %(what)s") % {"what": order.contents}
    return MailText(subject=subject, heading=_("You have won in the draw"), sentences=sentences)


def confirmation(mail: Mail) -> MailText | None:
    """Sent even if the order was refunded since: the buyer then gets both mails, in the order of events."""
    order = mail.order
    amount = money(order.amount_minor, order.currency)
    sentences = [_("We have received your payment of %(amount)s. Thank you!") % {"amount": amount}]
    if order.paid_late:
        sentences.append(_("It arrived after the payment deadline, but units were still left, so your order stands."))
    if order.status == OrderStatus.PAID:
        sentences.append(_("We will write again when your order is on its way."))
    subject = _("Payment received: %(what)s") % {"what": order.contents}
    return MailText(subject=subject, heading=_("Thank you for your order"), sentences=sentences)


def shipping(mail: Mail) -> MailText | None:
    order = mail.order
    sentences = [_("Your order has left us and is on its way to you.")]
    if order.tracking_number:
        sentences.append(_("With the tracking number you can follow the parcel. It may take a day to be known."))
    subject = _("On its way: %(what)s") % {"what": order.contents}
    return MailText(subject=subject, heading=_("Your order is on its way"), sentences=sentences)


def tracking(mail: Mail) -> MailText | None:
    """The number was entered, or corrected, after the mail that the order is on its way."""
    order = mail.order
    if not order.tracking_number:
        return None
    sentences = [_("With the tracking number you can follow the parcel. It may take a day to be known.")]
    subject = _("Tracking number: %(what)s") % {"what": order.contents}
    return MailText(subject=subject, heading=_("The tracking number of your parcel"), sentences=sentences)


def units_came(mail: Mail) -> MailText | None:
    """The buyer waited in line, has perhaps left the page, and can pay until the deadline."""
    order = mail.order
    if order.status != OrderStatus.AWAITING_PAYMENT:
        return None
    sentences = [
        _("Units came back, and you were next in the waiting list. They are yours until %(deadline)s: pay now.")
        % {"deadline": time_text(order.expires_at)},
        _("If you do not pay by then, they go to the next in line, and nothing is charged."),
    ]
    subject = _("Your units are here: %(what)s") % {"what": order.contents}
    return MailText(subject=subject, heading=_("Your units are here"), sentences=sentences)


def expiry(mail: Mail) -> MailText | None:
    order = mail.order
    if order.status in SOLD:
        # The late payment was accepted meanwhile; the confirmation says so.
        return None
    ended = _("You had until %(deadline)s to pay. The order has expired, and the units are no longer held for you.")
    sentences = [ended % {"deadline": time_text(order.expires_at)}]
    if order.late_payment_undecided:
        sentences.append(_("Your payment arrived after that. We are checking availability and will email you."))
    elif order.payment_unknown:
        sentences.append(_("You had opened a payment page, and we do not know yet whether you paid there."))
        sentences.append(_("If you did, you get either your order or a full refund."))
    elif order.status == OrderStatus.EXPIRED and not order.was_charged:
        sentences.append(_("Nothing was charged."))
    elif order.status == OrderStatus.EXPIRED or (order.was_charged and not order.paid_late):
        # Money that the order did not take, such as a wrong amount.
        if order.payment_goes_back:
            sentences.append(_("We will refund your payment in full. You do not need to do anything."))
        else:
            sentences.append(_("We have refunded you. It may take a few days to appear in your account."))
    elif order.status == OrderStatus.REFUNDED:
        # Another mail has said how much.
        sentences.append(_("We have refunded you. It may take a few days to appear in your account."))
    else:
        sentences.append(
            _("Your payment arrived after that. We will refund it in full. You do not need to do anything.")
        )
    subject = _("Order expired: %(what)s") % {"what": order.contents}
    return MailText(subject=subject, heading=_("Your order has expired"), sentences=sentences)


def refunding(mail: Mail) -> MailText | None:
    order, refund = mail.order, mail.refund
    # A mail without a refund was queued by an older release, for all of an order.
    of = refund or order
    amount = money(of.amount_minor, of.currency)
    if refund and not refund.payment_id:
        # Staff return the money themselves.
        sentences = [_("We refund %(amount)s to you.") % {"amount": amount}]
    else:
        sentences = [_("We have refunded %(amount)s to your original payment method.") % {"amount": amount}]
    if refund and not refund.is_surplus and refund.amount_minor < order.amount_minor:
        paid = money(order.amount_minor, order.currency)
        sentences.append(_("That is a part of the %(paid)s that you paid.") % {"paid": paid})
    if order.status == OrderStatus.AWAITING_PAYMENT:
        # Money that it did not take. The page says why, and leads to another payment.
        sentences.append(_("This order is still awaiting payment."))
    elif order.paid_late and not order.refunded_minor:
        # Not if staff refund a late order that was kept.
        sentences.append(_("Your payment arrived after the order had ended."))
    sentences.append(_("It may take a few days to appear in your account."))
    subject = _("Refund: %(what)s") % {"what": refunded_contents(mail)}
    return MailText(subject=subject, heading=_("Your refund"), sentences=sentences)


def refunded_contents(mail: Mail) -> str:
    """The units that the refund is about; where it names none, what was ordered."""
    named = mail.refund.lines.select_related("line__variant__product") if mail.refund else ()
    return _(", ").join(map(str, named)) or _(", ").join(map(str, mail.order.lines.all()))


def sending_link(mail: Mail) -> MailText | None:
    """The guest has asked for the way to the order; the mail's button leads there."""
    sentences = [
        private_link(),
        _("If you have not asked for it, somebody has mistyped an address. Then you need not do anything."),
    ]
    subject = _("Your order %(code)s") % {"code": mail.order.shown_code}
    return MailText(subject=subject, heading=_("The link to your order"), sentences=sentences)


MAIL_TEXTS: dict[Mail.Kind, Callable[[Mail], MailText | None]] = {
    Mail.Kind.PLACED: reception,
    Mail.Kind.WON: winning,
    Mail.Kind.PAID: confirmation,
    Mail.Kind.SHIPPED: shipping,
    Mail.Kind.TRACKING: tracking,
    Mail.Kind.EXPIRED: expiry,
    Mail.Kind.REFUNDED: refunding,
    Mail.Kind.LINK: sending_link,
    Mail.Kind.FROM_LINE: units_came,
}
