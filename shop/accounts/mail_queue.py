"""Account mails: written down by the request, sent by Celery.

The page does not talk to the mail server, so a server that is away or slow neither breaks it nor makes it wait, and how
long the page takes does not say whether there is an account. A mail is deleted when it is sent, since its link opens
an account. Before that, a worker claims it, so that of two workers only one sends it.
"""

import contextlib
import smtplib
import time
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db.models import F
from django.db.models.functions import Now

from shop.models import AccountMail

log = structlog.get_logger(__name__)

# How long a claimed mail is left to its worker. Longer than the time limit of a task.
CLAIMED_FOR = timedelta(minutes=5)
# When to try again if the server cannot be reached. The attempt is not counted.
SERVER_AWAY = timedelta(seconds=30)
# A refused mail is tried again after 1, 2, 4 and 8 minutes. Somebody who waits longer has asked again.
ATTEMPTS_MAX = 5
# How many due mails to try to claim, since other workers may claim some of them first.
CANDIDATES_MAX = 10
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
    started, sent = time.monotonic(), 0
    AccountMail.objects.filter(created_at__lt=Now() - KEPT_FOR).delete()
    server = get_connection()
    try:
        while time.monotonic() - started <= seconds_max and (mail := claim_next()):
            was_sent, go_on = deliver(mail, server=server)
            sent += was_sent
            if not go_on:
                break
    finally:
        with contextlib.suppress(OSError):
            server.close()
    return sent


def claim_next() -> AccountMail | None:
    """The mail that has been due the longest, claimed for `CLAIMED_FOR`. None if nothing is due."""
    due = AccountMail.objects.filter(next_attempt_at__lte=Now()).order_by("next_attempt_at", "pk")
    for pk, due_at in due.values_list("pk", "next_attempt_at")[:CANDIDATES_MAX]:
        claimed = AccountMail.objects.filter(pk=pk, next_attempt_at=due_at)
        if claimed.update(next_attempt_at=Now() + CLAIMED_FOR, attempts=F("attempts") + 1) == 1:
            return AccountMail.objects.filter(pk=pk).first()
    return None


def deliver(mail: AccountMail, *, server: Any) -> tuple[bool, bool]:
    """Send one claimed mail. Returns whether it was sent, and whether to go on with the next mail."""
    row = AccountMail.objects.filter(pk=mail.pk)
    try:
        server.open()
    except OSError as error:  # smtplib's exceptions are OSErrors
        log.warning("account_mails_wait_for_server", error=str(error))
        row.update(next_attempt_at=Now() + SERVER_AWAY, attempts=F("attempts") - 1)
        return False, False
    try:
        server.send_messages([message_of(mail)])
    except (OSError, ValueError) as error:  # ValueError: an invalid address
        retry_later(mail, error)
        go_on = isinstance(error, ValueError | smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused)
        return False, go_on
    row.delete()
    return True, True


def message_of(mail: AccountMail) -> EmailMultiAlternatives:
    """Always with the same Message-ID, so that mail programs show a mail that was sent twice only once."""
    host = urlsplit(settings.SHOP_URL).hostname
    headers = {"Message-ID": f"<account.{mail.uid}@{host}>", "Auto-Submitted": "auto-generated"}
    message = EmailMultiAlternatives(subject=mail.subject, body=mail.text, to=[mail.to], headers=headers)
    message.attach_alternative(mail.html, "text/html")
    return message


def retry_later(mail: AccountMail, error: Exception) -> None:
    """The log does not say to whom the mail was: it is kept longer than the mail."""
    row = AccountMail.objects.filter(pk=mail.pk)
    if mail.attempts >= ATTEMPTS_MAX:
        log.error("account_mail_given_up", mail=str(mail.uid), error=type(error).__name__)
        row.delete()
        return
    log.warning("account_mail_refused", mail=str(mail.uid), attempts=mail.attempts, error=type(error).__name__)
    row.update(next_attempt_at=Now() + timedelta(minutes=2 ** (mail.attempts - 1)))
