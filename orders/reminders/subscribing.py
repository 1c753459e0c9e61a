"""Asking for a reminder, confirming the address, and wanting no more of them.

An address gets mails only if its owner has confirmed it: that of an account before, a guest's by a link. A stranger
can have that one mail sent, a few times a day (REMINDER_LIMIT_BY_MAILBOX), and the page says the same to all.
The reminders of an account go to the address that it has confirmed when they are sent.

A person is one address, in small letters. "a.b@x.com" and "ab@x.com" are one mailbox at some providers and two people
at others, so the mailbox counts questions, and is no identity.
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

from orders.checkout.guest_bounds import mailbox_mark, mark_of
from orders.models import Reminder
from orders.reminders.reminder_target import Target
from shop.accounts import mail_queue
from shop.accounts.mail_texts import AccountMailText, message_from
from shop.configuration.quick_setting import secret_keys
from shop.http.rate_limits import LimitReached, take
from shop.languages.page_language import path_in
from shop.models.people import lock_account

CONFIRM_SALT = "orders.reminders.confirm"
STOP_SALT = "orders.reminders.stop"
# A link that nobody has pressed by then is dead, and its row is removed.
CONFIRM_WITHIN = timedelta(days=2)
# For one address, of those it has confirmed. The others are bounded by the questions sent: each of them had one.
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
    for pk in rows.exclude(of_address(email)).order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            row = rows.select_for_update().filter(pk=pk).first()
            if row is None:
                continue
            about = {"sale": row.sale_id, "item": row.item_id, "variant": row.variant_id}
            Reminder.objects.filter(of_address(email), **about).exclude(pk=pk).delete()
            rows.filter(pk=pk).update(email=email, mailbox=address_mark(email))


def address_mark(email: str, *, secret: str = "") -> str:
    return mark_of(email.lower(), kind=b"reminder-address", secret=secret)


def address_marks(email: str) -> set[str]:
    """Also those that were made with former keys, which rows and links still have."""
    return {address_mark(email, secret=secret) for secret in secret_keys()}


def marks_of(email: str) -> set[str]:
    """All marks that a row of this address may have."""
    return address_marks(email) | {mailbox_mark(email, secret=secret) for secret in secret_keys()}


def of_address(email: str) -> Q:
    """The rows of exactly this address. Their mark finds them by an index, and one mark may be of several addresses."""
    return Q(mailbox__in=marks_of(email), email__iexact=email)


@transaction.atomic
def subscribe_account(*, target: Target, user_id: int, email: str, language: str) -> bool:
    """The owner of a confirmed address wants the mail. Idempotent. False if the address has as many as it may.

    Raises AccountEnded.
    """
    lock_account(user_id)
    follow_account(user_id)
    if is_full(target, email):
        return False
    row = find(target, email) or keep(target=target, email=email, language=language, user_id=user_id)
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
    email = email.lower()
    row = find(target, email)
    if (row is not None and row.confirmed_at is not None) or is_full(target, email):
        return
    key = sha256(mailbox_mark(email).encode()).hexdigest()
    try:
        take(action="reminder_by_mailbox", rate=settings.REMINDER_LIMIT_BY_MAILBOX, key=key)
    except LimitReached:
        return
    row = row or keep(target=target, email=email, language=language)
    with translation.override(language):
        path = reverse("reminder-confirm", args=[signing.dumps(row.uid.hex, salt=CONFIRM_SALT)])
        text = AccountMailText(
            subject=_("Please confirm: a mail about “%(what)s”") % {"what": target.name},
            sentences=[asked_for(target), _("Press the button, and we will send it: one mail, and no others.")],
            button=_("Yes, remind me"),
            url=settings.SHOP_URL + path_in(language, path),
            if_not_you=_("If you have not asked for it, you need not do anything: somebody has mistyped an address."),
        )
        mail_queue.queue(message_from(text, to=row.email))


def asked_for(target: Target) -> str:
    if target.is_sale:
        return _("You want a mail before “%(what)s” opens.") % {"what": target.name}
    return _("You want a mail when “%(what)s” is available again.") % {"what": target.name}


def find(target: Target, email: str) -> Reminder | None:
    rows = Reminder.objects.filter(of_address(email), **{target.kind: target.pk})
    row = rows.first()
    if row is not None and row.user_id is not None:
        # The account may have left this address to another person.
        follow_account(row.user_id)
        row = rows.first()
    return row


def is_full(target: Target, email: str) -> bool:
    waiting = Reminder.objects.filter(of_address(email)).exclude(confirmed_at=None)
    return waiting.exclude(**{target.kind: target.pk}).count() >= REMINDERS_MAX


def keep(*, target: Target, email: str, language: str, user_id: int | None = None) -> Reminder:
    """A new row, or the one that was made at the same moment."""
    fields = {"email": email.lower(), "language": language, "user_id": user_id}
    about = {"sale_id": None, "item_id": None, "variant_id": None, f"{target.kind}_id": target.pk}
    # The mark of the mailbox, which links of the release before have, unless another of its addresses has it here.
    row, _made = Reminder.objects.get_or_create(mailbox=mailbox_mark(email), **about, defaults=fields)
    if row.email.lower() != email.lower():
        row, _made = Reminder.objects.get_or_create(mailbox=address_mark(email), **about, defaults=fields)
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
    """Where the address stops all its reminders, by one POST. It has marks of the address, and not the address."""
    marks = {reminder.mailbox, *marks_of(reminder.email)}
    path = reverse("reminder-stop", args=[signing.dumps(sorted(marks), salt=STOP_SALT)])
    return settings.SHOP_URL + path_in(reminder.language, path)


def marks_of_link(signed: str) -> list[str] | None:
    try:
        marks: list[str] | str = signing.loads(signed, salt=STOP_SALT)
    except signing.BadSignature:
        return None
    # Links of the release before have the mark of the mailbox alone.
    return [marks] if isinstance(marks, str) else marks


def stop_all(*, marks: list[str]) -> None:
    """Remove the reminders of the address with these marks; with the mark of a mailbox alone, those of all in it."""
    emails = set(Reminder.objects.filter(mailbox__in=marks).values_list("email", flat=True))
    for email in emails:
        if len(marks) == 1 or not address_marks(email).isdisjoint(marks):
            # Also those that were asked for since the key was replaced, which have another mark.
            Reminder.objects.filter(of_address(email)).delete()


def stop_one(*, kind: str, pk: int, user_id: int) -> int:
    """The account wants this mail no more, also if its owner has asked for it as a guest."""
    emails = {confirmed_address(user_id)} - {""}
    count, _rows = reminders_of_person(user_id, emails=emails).filter(**{kind: pk}).delete()
    return count


def reminders_of_person(user_id: int, *, emails: set[str]) -> "QuerySet[Reminder]":
    """All reminders of an account, also those that it asked for as a guest."""
    its_own = Q(user=user_id)
    for email in emails:
        its_own |= of_address(email)
    return with_targets().filter(its_own).order_by("pk")


def with_targets() -> "QuerySet[Reminder]":
    return Reminder.objects.select_related("sale", "item__sale", "item__variant__product", "variant__product")
