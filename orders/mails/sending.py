"""Mails to buyers: queued in the transaction that changes the order, sent by Celery afterwards, one of each kind.

`next_attempt_at` says when a mail is due. Null means that it will not be tried again: it was sent, given up, or cannot
be sent, and `last_error` says why. How mails are claimed and sent: shop/mails/outgoing_mail.py. One that is sent again
after a crash has the same Message-ID.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from orders.mails.message import is_overtaken, message_of
from orders.models import Mail, Order, Refund, with_lines
from shop import failpoints
from shop.http.problems import is_outage
from shop.mails.outgoing_mail import Attempt, Delivery, candidates_of, claim, hand_over, mailbox_of, send_each
from shop.tracing.steps import steps

# A guest waits at the screen for the link, and a buyer who paid waits for the confirmation. A mail about an expiry is
# not urgent.
SENT_FIRST = (
    Mail.Kind.LINK,
    Mail.Kind.FROM_LINE,
    Mail.Kind.PLACED,
    Mail.Kind.WON,
    Mail.Kind.PAID,
    Mail.Kind.REFUNDED,
    Mail.Kind.SHIPPED,
    Mail.Kind.TRACKING,
    Mail.Kind.EXPIRED,
)
# The pauses between 12 attempts are some 16 hours together.
ATTEMPTS_MAX = 12
ERROR_LENGTH_MAX = 500

# Addresses are not verified, so anybody can place orders, let them expire, and ask for their links under another
# person's address. More mails about that in a day would flood that person. Mails about money are not counted.
PER_DAY_MAX = {Mail.Kind.PLACED: 6, Mail.Kind.EXPIRED: 3, Mail.Kind.LINK: 10}
DAY_SECONDS = 24 * 3600

NO_ADDRESS = "no address"
TOO_MANY = "too many such mails to this address today"
OVERTAKEN = "overtaken"

# Answers to staff who want a mail to be sent.
DUE_NOW = "due now"
DUE_ANYWAY = "due anyway"
BEING_SENT = "being sent"
ALREADY_SENT = "already sent"

# A mail that begins its life anew.
ANEW = {"sent_at": None, "next_attempt_at": Now(), "attempts": 0, "last_error": "", "created_at": Now()}
# Claimed by a worker. One that waits for its next attempt has the error of the last one.
IS_BEING_SENT = Q(sent_at=None, last_error="", next_attempt_at__gt=Now())


def enqueue(*, order_ids: Iterable[int], kind: Mail.Kind, refund: Refund | None = None) -> None:
    """Queue a mail for each order whose buyer has an address. Call it in the transaction that changes the orders.

    Idempotent. `refund` is the refund that the mail is about.
    """
    with_address = Order.objects.filter(pk__in=list(order_ids)).exclude(buyer__email="").order_by("pk")
    pks = with_address.values_list("pk", flat=True)
    Mail.objects.bulk_create(
        (Mail(order_id=pk, kind=kind, refund=refund, next_attempt_at=Now()) for pk in pks), ignore_conflicts=True
    )


def enqueue_tracking(*, order: Order) -> None:
    """Queue a mail about the number that the order has now, unless the mail that it was shipped still waits: that one
    reads the number when it is sent.
    """
    waiting = order.mails.filter(kind=Mail.Kind.SHIPPED, sent_at=None, attempts=0, next_attempt_at__isnull=False)
    # Locked: a worker that claimed it before the number is committed would read the old one.
    if order.contact_email and not waiting.select_for_update(no_key=True):
        enqueue_again(order=order, kind=Mail.Kind.TRACKING)


def enqueue_again(*, order: Order, kind: Mail.Kind) -> None:
    """Queue a mail also where one of its kind was sent before."""
    Mail.objects.update_or_create(order=order, kind=kind, defaults=ANEW)


def retry_unsent(*, mail_ids: Iterable[int], on_due: Callable[[Mail], None] | None = None) -> Counter[str]:
    """Make unsent mails due now and reset their attempts. Returns how many got each answer: DUE_NOW, or why not.

    `on_due` runs in the transaction that makes a mail due.
    """
    answers, leaving = Counter[str](), Counter[str]()
    for mail in with_contents().filter(pk__in=list(mail_ids)).order_by("pk"):
        with transaction.atomic():
            answer = retry(mail, before_it=leaving[count_name(mail)])
            if answer == DUE_NOW and on_due:
                on_due(mail)
        answers[answer] += 1
        leaving[count_name(mail)] += answer == DUE_NOW
    return answers


def retry(mail: Mail, *, before_it: int) -> str:
    if mail.sent_at:
        return ALREADY_SENT
    if why_not := reason_against(mail, before_it=before_it):
        return why_not
    row = Mail.objects.filter(pk=mail.pk, sent_at=None).exclude(IS_BEING_SENT)
    return DUE_NOW if row.update(next_attempt_at=Now(), attempts=0, last_error="") else BEING_SENT


def send_again(*, mail: Mail) -> str:
    """Make a mail due that was sent or given up, as a message of its own. Returns DUE_NOW, or why it is not.

    Mail programs show two messages of one Message-ID once, so the mail begins its life anew (`message_name`).
    """
    if why_not := reason_against(mail):
        return why_not
    ended = Mail.objects.filter(pk=mail.pk, next_attempt_at=None)
    return DUE_NOW if ended.update(**ANEW) else DUE_ANYWAY


def reason_against(mail: Mail, *, before_it: int = 0) -> str:
    """Why the mail would not be sent if it were due; empty if it would. `before_it`: others that are due too."""
    return reason_not_to_send(mail, before_it=before_it) or (OVERTAKEN if is_overtaken(mail) else "")


def send_due(*, seconds_max: float) -> int:
    """Send the mails that are due until there are none, the time is up or the server is away. Returns how many."""
    return send_each(claim_next=claim_next, deliver=deliver, seconds_max=seconds_max)


def claim_next() -> Mail | None:
    """Claim a mail: the one due the longest, of the first kind in SENT_FIRST that has any. None if none is due."""
    unsent = Mail.objects.filter(sent_at=None)
    # A query for each kind: each reads a few entries of the index, however many mails are due.
    candidates = (candidate for kind in SENT_FIRST for candidate in candidates_of(unsent.filter(kind=kind)))
    pk = claim(unsent, candidates, last_error="")
    if pk is None:
        return None
    return with_contents().get(pk=pk)


def with_contents() -> QuerySet[Mail]:
    """Mails with all that their texts say."""
    rows = Mail.objects.select_related("order__buyer", "order__shipping_address", "refund__payment")
    return rows.prefetch_related(with_lines("order__"), "order__payments", "order__refunds")


def deliver(mail: Mail, server: Any) -> Delivery:
    """Send one claimed mail, unless there is a reason not to."""
    if reason := reason_not_to_send(mail):
        update_mail(mail, next_attempt_at=None, last_error=reason)
        return Delivery.NOT_SENT
    which = {"mail": mail.pk, "order": str(mail.order.number)}
    attempt = Attempt("mail", which, row_of(mail), mail.attempts, ATTEMPTS_MAX, text_of)
    try:
        message = message_of(mail)
    except Exception as error:
        # A bug in the shop: Celery logs the traceback. The mails behind this one must not wait for the fix.
        attempt.retry_later(error)
        raise
    if message is None:
        update_mail(mail, next_attempt_at=None, last_error=OVERTAKEN)
        return Delivery.NOT_SENT
    outcome = hand_over(message, server=server, attempt=attempt)
    if outcome is Delivery.SENT:
        failpoints.reach("mails.after_send")
        steps.note(mail.order.purchase, "mail", began=mail.created_at, kind=mail.kind)
        update_mail(mail, sent_at=Now(), next_attempt_at=None, last_error="")
        if mail.kind in PER_DAY_MAX:
            count_mail(mail)
    return outcome


def reason_not_to_send(mail: Mail, *, before_it: int = 0) -> str:
    """That it has no address, or too many mails of its kind today; empty if neither."""
    if not mail.order.contact_email:
        return NO_ADDRESS
    per_day_max = PER_DAY_MAX.get(Mail.Kind(mail.kind))
    if per_day_max is not None and mails_today(mail) + before_it >= per_day_max:
        return TOO_MANY
    return ""


def mails_today(mail: Mail) -> int:
    """Of this kind to this address, within a day of the first one. 0 if the cache cannot be asked."""
    try:
        return int(cache.get(f"daily:{count_name(mail)}") or 0)
    except Exception as error:
        if not is_outage(error):
            raise
        return 0


def count_mail(mail: Mail) -> None:
    """Count one more, if the cache can be asked."""
    key = f"daily:{count_name(mail)}"
    try:
        if not cache.add(key, 1, timeout=DAY_SECONDS):
            cache.incr(key)
    except Exception as error:
        # ValueError: the day ended between the two calls.
        if not is_outage(error) and not isinstance(error, ValueError):
            raise


def count_name(mail: Mail) -> str:
    """The key that counts mails of a kind. It is the mailbox, since one person may have many accounts and addresses."""
    mailbox = mailbox_of(mail.order.contact_email)
    name = "expiry" if mail.kind == Mail.Kind.EXPIRED else mail.kind
    return f"{name}-mails:{sha256(mailbox.encode()).hexdigest()}"


def update_mail(mail: Mail, **changes: Any) -> None:
    """Update a mail that this worker has claimed."""
    row_of(mail).update(**changes)


def row_of(mail: Mail) -> QuerySet[Mail]:
    """The mail's row, if nobody has changed it since this worker claimed it: one that was queued again is still due."""
    return Mail.objects.filter(pk=mail.pk, sent_at=None, next_attempt_at=mail.next_attempt_at)


def text_of(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:ERROR_LENGTH_MAX]
