"""Mails to buyers. Owed in the transaction that moves the order, sent by Celery afterwards, once for each kind.

`next_attempt_at` says when a mail is due; null means never again: it was sent, given up, or cannot be sent, and
`last_error` says why. Whoever sends a mail first moves that moment into the future by a guarded update, so that of two
workers one sends it. No transaction and no row lock is open while a mail server is spoken to.

A worker that dies between the sending and the note of it leaves a mail that is sent again `LEASE` later, under the same
Message-ID: at least once is the most that mail can promise.
"""

import contextlib
import smtplib
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import structlog
from django.core.mail import get_connection
from django.db.models import F
from django.db.models.functions import Now

from orders.mails.message import message_of
from orders.models import Mail
from shop import failpoints

log = structlog.get_logger(__name__)

# One turn of the task: it hands its worker back after so many mails, and the next turn goes on.
BATCH_MAX = 200
# How long a mail is left to the worker that took it. Longer than the time limit of a task.
LEASE = timedelta(minutes=5)
# A mail server that cannot be reached is asked again soon, by one mail, and counts against none.
SERVER_AWAY = timedelta(seconds=30)
# A mail that was refused is tried again after 1, 2, 4, … minutes, at most four hours: 12 attempts take 15 hours.
ATTEMPTS_MAX = 12
BACKOFF_MINUTES_MAX = 240
# Of mails that are due at the same time, so many are looked at, since others may take them meanwhile.
CANDIDATES_MAX = 10
ERROR_LENGTH_MAX = 500

NO_ADDRESS = "no address"
OVERTAKEN = "overtaken"


def owe(*, order_ids: Iterable[int], kind: Mail.Kind) -> None:
    """Note that the orders' buyers are to be told. Call it in the transaction that moves the orders; idempotent."""
    Mail.objects.bulk_create(
        (Mail(order_id=pk, kind=kind, next_attempt_at=Now()) for pk in order_ids), ignore_conflicts=True
    )


def owe_again(*, mail_ids: Iterable[int]) -> int:
    """Make mails that were not sent due now, with all attempts before them. Returns how many."""
    unsent = Mail.objects.filter(pk__in=list(mail_ids), sent_at=None)
    return unsent.update(next_attempt_at=Now(), attempts=0, last_error="")


def send_due(*, seconds_max: float, batch_max: int = BATCH_MAX) -> int:
    """Send mails that are due, one after the other over one connection. Returns how many were sent.

    Stops where the server is away or ill: the mails behind it would only wait for the same silence.
    """
    started, sent = time.monotonic(), 0
    server = get_connection()
    try:
        for _ in range(batch_max):
            if time.monotonic() - started > seconds_max or (mail := claim()) is None:
                break
            done, healthy = deliver(mail=mail, server=server)
            sent += done
            if not healthy:
                break
    finally:
        hang_up(server)
    return sent


def claim() -> Mail | None:
    """Take the mail that has been due the longest, for `LEASE`. None where nothing is due."""
    due = Mail.objects.filter(sent_at=None, next_attempt_at__lte=Now()).order_by("next_attempt_at", "pk")
    for pk, due_at in due.values_list("pk", "next_attempt_at")[:CANDIDATES_MAX]:
        still_due = Mail.objects.filter(pk=pk, sent_at=None, next_attempt_at=due_at)
        if still_due.update(next_attempt_at=Now() + LEASE, attempts=F("attempts") + 1) == 1:
            rows = Mail.objects.select_related("order__buyer")
            return rows.prefetch_related("order__lines__product", "order__payments").get(pk=pk)
    return None


def deliver(*, mail: Mail, server: Any) -> tuple[bool, bool]:
    """Send one mail that was claimed. Returns whether it was sent, and whether the server is good for another."""
    if not mail.order.buyer.email:
        note(mail, next_attempt_at=None, last_error=NO_ADDRESS)
        return False, True
    try:
        message = message_of(mail)
    except Exception as error:
        # A fault of ours, and Celery shows where. The mails behind this one are not to wait for its cure.
        put_off(mail, error)
        raise
    if message is None:
        note(mail, next_attempt_at=None, last_error=OVERTAKEN)
        return False, True
    try:
        server.open()
    except OSError as error:  # smtplib's exceptions are OSErrors too
        log.warning("mails_wait_for_server", error=str(error))
        note(mail, next_attempt_at=Now() + SERVER_AWAY, attempts=F("attempts") - 1, last_error=text_of(error))
        return False, False
    try:
        server.send_messages([message])
    except (OSError, ValueError) as error:  # ValueError: an address that is none
        put_off(mail, error)
        # A word of refusal is about this mail; silence is about the server.
        about_the_mail = isinstance(error, ValueError | smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused)
        return False, about_the_mail
    failpoints.reach("mails.after_send")
    note(mail, sent_at=Now(), next_attempt_at=None, last_error="")
    return True, True


def put_off(mail: Mail, error: Exception) -> None:
    """Try again later, each time after twice the pause, until it is enough."""
    if mail.attempts >= ATTEMPTS_MAX:
        log.error("mail_given_up", mail=mail.pk, order=str(mail.order.number), error=str(error))
        note(mail, next_attempt_at=None, last_error=text_of(error))
        return
    log.warning("mail_refused", mail=mail.pk, attempts=mail.attempts, error=str(error))
    pause = timedelta(minutes=min(2 ** (mail.attempts - 1), BACKOFF_MINUTES_MAX))
    note(mail, next_attempt_at=Now() + pause, last_error=text_of(error))


def note(mail: Mail, **changes: Any) -> None:
    """What became of a mail that we hold."""
    Mail.objects.filter(pk=mail.pk, sent_at=None).update(**changes)


def text_of(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:ERROR_LENGTH_MAX]


def hang_up(server: Any) -> None:
    """End the connection. What was sent was sent, whatever the server says to the farewell."""
    with contextlib.suppress(OSError):
        server.close()
