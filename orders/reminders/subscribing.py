"""Asking for a reminder, confirming the address, and wanting no more of them.

An address gets mails only if its owner has confirmed it: that of an account before, a guest's by a link. A stranger
can have that one mail sent, a few times a day (REMINDER_LIMIT_BY_MAILBOX), and the page says the same to all.
The reminders of an account go to the address that it has confirmed when they are sent.
"""

from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from orders.checkout.guest_bounds import mailbox_mark
from orders.models import Reminder
from orders.reminders.reminder_target import Target
from shop.accounts import mail_queue
from shop.accounts.mail_texts import AccountMailText, message_from
from shop.http.rate_limits import LimitReached, take
from shop.languages.page_language import path_in

CONFIRM_SALT = "orders.reminders.confirm"
STOP_SALT = "orders.reminders.stop"
# A link that nobody has pressed by then is dead, and its row is removed.
CONFIRM_WITHIN = timedelta(days=2)
# Of one mailbox.
REMINDERS_MAX = 50


def confirmed_address(user_id: int) -> str:
    """The confirmed address of the account; empty if it has none."""
    rows = EmailAddress.objects.filter(user_id=user_id, verified=True).order_by("-primary", "pk")
    return rows.values_list("email", flat=True).first() or ""


def follow_account(user_id: int) -> None:
    """Move the reminders of an account to its confirmed address, which may have changed. Without one, they go."""
    rows = Reminder.objects.filter(user=user_id)
    email = confirmed_address(user_id)
    if not email:
        rows.delete()
        return
    mailbox = mailbox_mark(email)
    for pk in rows.exclude(email=email, mailbox=mailbox).order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            row = rows.select_for_update().filter(pk=pk).first()
            if row is None:
                continue
            same = Reminder.objects.filter(mailbox=mailbox, sale=row.sale_id, item=row.item_id, variant=row.variant_id)
            same.exclude(pk=pk).delete()
            rows.filter(pk=pk).update(email=email, mailbox=mailbox)


def subscribe_account(*, target: Target, user_id: int, email: str, language: str) -> bool:
    """The owner of a confirmed address wants the mail. Idempotent. False if the mailbox has as many as it may."""
    follow_account(user_id)
    row = keep(target=target, email=email, language=language, user_id=user_id)
    if row is None:
        return False
    # One that the owner has asked for as a guest is the account's from now on.
    Reminder.objects.filter(Q(confirmed_at=None) | Q(user=None), pk=row.pk).update(
        confirmed_at=Coalesce("confirmed_at", Now()), email=email, user=user_id, language=language
    )
    return True


def too_many_reminders_text() -> str:
    return _("You wait for %(count)d mails already. When one of them is sent, you can ask for another.") % {
        "count": REMINDERS_MAX
    }


def subscribe_guest(*, target: Target, email: str, language: str) -> None:
    """Somebody has typed an address: its owner is asked, unless they were asked a moment ago or have agreed."""
    row = keep(target=target, email=email, language=language)
    if row is None or row.confirmed_at is not None:
        return
    key = sha256(row.mailbox.encode()).hexdigest()
    try:
        take(action="reminder_by_mailbox", rate=settings.REMINDER_LIMIT_BY_MAILBOX, key=key)
    except LimitReached:
        return
    with translation.override(language):
        path = reverse("reminder-confirm", args=[signing.dumps(row.uid.hex, salt=CONFIRM_SALT)])
        text = AccountMailText(
            subject=_("Please confirm: a mail about “%(what)s”") % {"what": target.name},
            sentences=[asked_for(target), _("Press the button, and we will send it: one mail, and no others.")],
            button=_("Yes, remind me"),
            url=settings.SHOP_URL + path_in(language, path),
            if_not_you=_("If you have not asked for it, you need not do anything: somebody has mistyped an address."),
        )
        mail_queue.queue(message_from(text, to=email))


def asked_for(target: Target) -> str:
    if target.is_sale:
        return _("You want a mail before “%(what)s” opens.") % {"what": target.name}
    return _("You want a mail when “%(what)s” is available again.") % {"what": target.name}


def keep(*, target: Target, email: str, language: str, user_id: int | None = None) -> Reminder | None:
    """The row of this mailbox and target. None if the mailbox has as many as it may."""
    mailbox = mailbox_mark(email)
    key = {"mailbox": mailbox, "sale_id": None, "item_id": None, "variant_id": None, f"{target.kind}_id": target.pk}
    former = Reminder.objects.filter(**key).exclude(user=None).values_list("user", flat=True).first()
    if former is not None:
        # The account may have left this address to another person.
        follow_account(former)
    if Reminder.objects.filter(mailbox=mailbox).exclude(**key).count() >= REMINDERS_MAX:
        return None
    row, _made = Reminder.objects.get_or_create(
        **key, defaults={"email": email, "language": language, "user_id": user_id}
    )
    return row


def of_user(*, target: Target, user_id: int) -> bool:
    """Whether the account waits for this mail, also if its owner has asked for it as a guest."""
    email = confirmed_address(user_id)
    if not email:
        return False
    waiting = reminders_of_person(user_id, emails={email}).filter(**{target.kind: target.pk})
    return waiting.exclude(confirmed_at=None).exists()


def confirm(signed: str) -> Reminder | None:
    """The address of the link is its owner's. None if the link is wrong or too old, or the mail was sent since."""
    row = find_signed(signed)
    if row is not None:
        Reminder.objects.filter(pk=row.pk, confirmed_at=None).update(confirmed_at=Now())
    return row


def find_signed(signed: str) -> Reminder | None:
    try:
        uid = UUID(signing.loads(signed, salt=CONFIRM_SALT, max_age=CONFIRM_WITHIN))
    except (signing.BadSignature, ValueError):
        return None
    return with_targets().filter(uid=uid).first()


def stop_url(reminder: Reminder) -> str:
    """Where the mailbox stops all its reminders, by one POST. It names no address."""
    path = reverse("reminder-stop", args=[signing.dumps(reminder.mailbox, salt=STOP_SALT)])
    return settings.SHOP_URL + path_in(reminder.language, path)


def mailbox_of_link(signed: str) -> str | None:
    try:
        mailbox: str = signing.loads(signed, salt=STOP_SALT)
    except signing.BadSignature:
        return None
    return mailbox


def stop_all(*, mailbox: str) -> int:
    count, _rows = Reminder.objects.filter(mailbox=mailbox).delete()
    return count


def stop_one(*, kind: str, pk: int, user_id: int) -> int:
    """The account wants this mail no more, also if its owner has asked for it as a guest."""
    emails = {confirmed_address(user_id)} - {""}
    count, _rows = reminders_of_person(user_id, emails=emails).filter(**{kind: pk}).delete()
    return count


def reminders_of_person(user_id: int, *, emails: set[str]) -> "QuerySet[Reminder]":
    """All reminders of an account, also those that it asked for as a guest."""
    its_own = Q(user=user_id) | Q(mailbox__in=[mailbox_mark(email) for email in emails])
    return with_targets().filter(its_own).order_by("pk")


def with_targets() -> "QuerySet[Reminder]":
    return Reminder.objects.select_related("sale", "item__sale", "item__variant__product", "variant__product")
