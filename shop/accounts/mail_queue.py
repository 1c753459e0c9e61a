"""Account mails: written down by the request, sent by Celery.

The page does not talk to the mail server, so a server that is away or slow neither breaks it nor makes it wait, and how
long the page takes does not say whether there is an account. A mail is deleted when it is sent, since its link opens
an account. How mails are claimed and sent: `shop/mails/outgoing_mail.py`.
"""

from datetime import timedelta
from typing import Any

from django.core.mail import EmailMultiAlternatives
from django.db.models.functions import Now

from shop.mails.outgoing_mail import Attempt, Delivery, claim_due, hand_over, headers_of, send_each
from shop.models import AccountMail

# A person who waits longer than 1, 2, 4 and 8 minutes has asked again.
ATTEMPTS_MAX = 5
# The links are dead by then.
KEPT_FOR = timedelta(days=3)


def queue(message: EmailMultiAlternatives) -> None:
    """Write a mail down for Celery, in the transaction of the caller if there is one."""
    html, _kind = message.alternatives[0]
    AccountMail.objects.create(
        to=message.to[0], subject=str(message.subject), text=str(message.body), html=str(html), next_attempt_at=Now()
    )


def send_due(*, seconds_max: float) -> int:
    """Send the mails that are due until there are none, the time is up or the server is away. Returns how many."""
    AccountMail.objects.filter(created_at__lt=Now() - KEPT_FOR).delete()
    return send_each(claim_next=claim_next, deliver=deliver, seconds_max=seconds_max)


def claim_next() -> AccountMail | None:
    """The mail that has been due the longest, claimed. None if nothing is due."""
    mails = AccountMail.objects.all()
    pk = claim_due(mails)
    return None if pk is None else mails.filter(pk=pk).first()


def deliver(mail: AccountMail, server: Any) -> Delivery:
    row, which = AccountMail.objects.filter(pk=mail.pk), {"mail": str(mail.uid)}
    attempt = Attempt("account_mail", which, row, mail.attempts, ATTEMPTS_MAX)
    outcome = hand_over(message_of(mail), server=server, attempt=attempt)
    if outcome is Delivery.SENT:
        row.delete()
    return outcome


def message_of(mail: AccountMail) -> EmailMultiAlternatives:
    headers = headers_of(f"account.{mail.uid}")
    message = EmailMultiAlternatives(subject=mail.subject, body=mail.text, to=[mail.to], headers=headers)
    message.attach_alternative(mail.html, "text/html")
    return message
