"""Mails to buyers: queued in the transaction that changes the order, sent by Celery afterwards, one of each kind.

`next_attempt_at` says when a mail is due. Null means that it will not be tried again: it was sent, given up, or cannot
be sent, and `last_error` says why. Before sending a mail, a worker claims it: a guarded update moves `next_attempt_at`
into the future, so that of two workers only one sends it. No transaction and no row lock is open while the shop talks
to the mail server.

If a worker dies after sending a mail and before recording it, the mail is sent again `CLAIMED_FOR` later with the same
Message-ID. Mail cannot promise more than "at least once".
"""

import contextlib
import smtplib
import time
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import structlog
from django.core.mail import get_connection
from django.db.models import F
from django.db.models.functions import Now

from orders.mails.message import message_of
from orders.models import Mail, Order, Refund, with_lines
from shop import daily_count, failpoints

log = structlog.get_logger(__name__)

# A guest sits before the screen and waits for the link; a buyer who has paid waits for the confirmation; that an order
# expired can be heard later.
SENT_FIRST = (Mail.Kind.LINK, Mail.Kind.PAID, Mail.Kind.REFUNDED, Mail.Kind.SHIPPED, Mail.Kind.EXPIRED)
# How long a claimed mail is left to the worker that claimed it. Longer than the time limit of a task.
CLAIMED_FOR = timedelta(minutes=5)
# When to try again if the server cannot be reached. Only one mail is tried, and the attempt is not counted.
SERVER_AWAY = timedelta(seconds=30)
# A refused mail is tried again after 1, 2, 4, … minutes, at most four hours: 12 attempts take 15 hours.
ATTEMPTS_MAX = 12
BACKOFF_MINUTES_MAX = 240
# How many due mails to try to claim, since other workers may claim some of them first.
CANDIDATES_MAX = 10
ERROR_LENGTH_MAX = 500

# An address is not verified, and anybody can let reservations expire under it. More mails about that in a day would
# flood somebody who has no part in it; mails about money are not counted.
EXPIRIES_PER_DAY_MAX = 3

NO_ADDRESS = "no address"
TOO_MANY = "too many expiries for this address today"
OVERTAKEN = "overtaken"


def enqueue(*, order_ids: Iterable[int], kind: Mail.Kind, refund: Refund | None = None) -> None:
    """Queue a mail for each order whose buyer has an address. Call it in the transaction that changes the orders.

    Idempotent. `refund` is the refund of a part that the mail is about.
    """
    with_address = Order.objects.filter(pk__in=list(order_ids)).exclude(buyer__email="").order_by("pk")
    pks = with_address.values_list("pk", flat=True)
    Mail.objects.bulk_create(
        (Mail(order_id=pk, kind=kind, refund=refund, next_attempt_at=Now()) for pk in pks), ignore_conflicts=True
    )


def enqueue_link(*, order: Order) -> None:
    """Queue the mail with the link to a guest's order, also where one was sent before."""
    again = {"sent_at": None, "next_attempt_at": Now(), "attempts": 0, "last_error": "", "created_at": Now()}
    Mail.objects.update_or_create(order=order, kind=Mail.Kind.LINK, defaults=again)


def retry_unsent(*, mail_ids: Iterable[int]) -> int:
    """Make unsent mails due now and reset their attempts. Returns how many."""
    unsent = Mail.objects.filter(pk__in=list(mail_ids), sent_at=None)
    return unsent.update(next_attempt_at=Now(), attempts=0, last_error="")


def send_due(*, seconds_max: float) -> int:
    """Send the mails that are due, one after the other over one connection, until there are none or the time is up.

    Returns how many were sent.

    Stops when the server cannot be reached or does not answer, since the others would meet the same fault.
    """
    started, sent = time.monotonic(), 0
    server = get_connection()
    try:
        while time.monotonic() - started <= seconds_max and (mail := claim_next()):
            was_sent, go_on = deliver(mail=mail, server=server)
            sent += was_sent
            if not go_on:
                break
    finally:
        close_connection(server)
    return sent


def claim_next() -> Mail | None:
    """Claim a mail for `CLAIMED_FOR`: of the first kind of which one is due, the one that has been due the longest.

    None if nothing is due.
    """
    due = Mail.objects.filter(sent_at=None, next_attempt_at__lte=Now()).order_by("next_attempt_at", "pk")
    # A query for each kind: each reads a few entries of the index, however many mails are due.
    candidates = (
        candidate
        for kind in SENT_FIRST
        for candidate in due.filter(kind=kind).values_list("pk", "next_attempt_at")[:CANDIDATES_MAX]
    )
    for pk, due_at in candidates:
        still_due = Mail.objects.filter(pk=pk, sent_at=None, next_attempt_at=due_at)
        if still_due.update(next_attempt_at=Now() + CLAIMED_FOR, attempts=F("attempts") + 1) == 1:
            rows = Mail.objects.select_related("order__buyer", "order__shipping_address", "refund")
            return rows.prefetch_related(with_lines("order__"), "order__payments", "order__refunds").get(pk=pk)
    return None


def deliver(*, mail: Mail, server: Any) -> tuple[bool, bool]:
    """Send one claimed mail. Returns whether it was sent, and whether to go on with the next mail."""
    if not mail.order.contact_email:
        update_mail(mail, next_attempt_at=None, last_error=NO_ADDRESS)
        return False, True
    if mail.kind == Mail.Kind.EXPIRED and daily_count.count_of(expiry_count_name(mail)) >= EXPIRIES_PER_DAY_MAX:
        update_mail(mail, next_attempt_at=None, last_error=TOO_MANY)
        return False, True
    try:
        message = message_of(mail)
    except Exception as error:
        # A bug in the shop: Celery logs the traceback. The mails behind this one must not wait for the fix.
        schedule_retry(mail, error)
        raise
    if message is None:
        update_mail(mail, next_attempt_at=None, last_error=OVERTAKEN)
        return False, True
    try:
        server.open()
    except OSError as error:  # smtplib's exceptions are OSErrors
        log.warning("mails_wait_for_server", error=str(error))
        update_mail(mail, next_attempt_at=Now() + SERVER_AWAY, attempts=F("attempts") - 1, last_error=text_of(error))
        return False, False
    try:
        server.send_messages([message])
    except (OSError, ValueError) as error:  # ValueError: an invalid address
        schedule_retry(mail, error)
        # A refusal concerns this mail only; no answer concerns the server.
        go_on = isinstance(error, ValueError | smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused)
        return False, go_on
    failpoints.reach("mails.after_send")
    update_mail(mail, sent_at=Now(), next_attempt_at=None, last_error="")
    if mail.kind == Mail.Kind.EXPIRED:
        daily_count.add_one(expiry_count_name(mail))
    return True, True


def expiry_count_name(mail: Mail) -> str:
    """What the mails about expired orders are counted under: the address, since one person may have many accounts."""
    address = mail.order.contact_email.strip().lower()
    return f"expiry-mails:{sha256(address.encode()).hexdigest()}"


def schedule_retry(mail: Mail, error: Exception) -> None:
    """Try again later, doubling the pause each time; give up after `ATTEMPTS_MAX`."""
    if mail.attempts >= ATTEMPTS_MAX:
        log.error("mail_given_up", mail=mail.pk, order=str(mail.order.number), error=str(error))
        update_mail(mail, next_attempt_at=None, last_error=text_of(error))
        return
    log.warning("mail_refused", mail=mail.pk, attempts=mail.attempts, error=str(error))
    pause = timedelta(minutes=min(2 ** (mail.attempts - 1), BACKOFF_MINUTES_MAX))
    update_mail(mail, next_attempt_at=Now() + pause, last_error=text_of(error))


def update_mail(mail: Mail, **changes: Any) -> None:
    """Update a mail that this worker has claimed."""
    Mail.objects.filter(pk=mail.pk, sent_at=None).update(**changes)


def text_of(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:ERROR_LENGTH_MAX]


def close_connection(server: Any) -> None:
    """Close the connection. An error here does not matter: what was sent was sent."""
    with contextlib.suppress(OSError):
        server.close()
