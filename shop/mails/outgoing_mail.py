"""Sending mails that wait in a table: those of orders, accounts, waiting lists, reminders and alerts.

A row has `next_attempt_at` and `attempts`. Before a mail is sent, a worker claims it: a guarded update moves
`next_attempt_at` into the future, so that of two workers only one sends it. No transaction and no row lock is open
while the shop talks to the mail server. If a worker dies after sending a mail and before recording it, the mail is sent
again `CLAIMED_FOR` later. Mail cannot promise more than "at least once".
"""

import contextlib
import math
import smtplib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest, Now

log = structlog.get_logger(__name__)

# How long a claimed mail is left to the worker that claimed it. Longer than the time limit of a task.
CLAIMED_FOR = timedelta(minutes=5)
# When to try again if the server cannot be reached. Only one mail is tried, and the attempt is not counted.
SERVER_AWAY = timedelta(seconds=30)
# How many due mails to try to claim, since other workers may claim some of them first.
CANDIDATES_MAX = 10
# A refused mail is tried again after 1, 2, 4, … minutes, at most four hours.
BACKOFF_MINUTES_MAX = 240
# As many as the column of AccountMail has. Mail programs show fewer.
SUBJECT_CHARACTERS_MAX = 200

Row = TypeVar("Row")


class Delivery(StrEnum):
    """The outcome for one claimed mail. After `no_answer` the others would meet the same fault."""

    NO_ANSWER = "no_answer"
    NOT_SENT = "not_sent"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to send what waits in a claimed row, and what becomes of the row if it fails."""

    # Its name in the log, in the singular, and its id. The log never says to whom: it is kept longer than a mail.
    name: str
    which: Mapping[str, object]
    row: "QuerySet[Any]"
    attempts: int
    attempts_max: int
    # The text for the row's last error. None: the table keeps none, and a row that is given up is deleted.
    error_text: Callable[[Exception], str] | None = None

    def wait_for_server(self, error: Exception) -> None:
        """The mail could not be tried."""
        log.warning(f"{self.name}s_wait_for_server", error=str(error))
        # At least 0: the row may have begun anew since it was claimed.
        self._note(error, next_attempt_at=Now() + SERVER_AWAY, attempts=Greatest(F("attempts") - 1, 0))

    def retry_later(self, error: Exception) -> None:
        """Try again later, doubling the pause each time; give up after `attempts_max`."""
        # A refusal names the address, so its text is with the mail alone.
        kind = type(error).__name__
        if self.attempts < self.attempts_max:
            log.warning(f"{self.name}_refused", attempts=self.attempts, error=kind, **self.which)
            pause = timedelta(minutes=min(2 ** (self.attempts - 1), BACKOFF_MINUTES_MAX))
            self._note(error, next_attempt_at=Now() + pause)
            return
        log.error(f"{self.name}_given_up", error=kind, **self.which)
        if self.error_text is None:
            self.row.delete()
        else:
            self._note(error, next_attempt_at=None)

    def _note(self, error: Exception, **changes: Any) -> None:
        if self.error_text is not None:
            changes["last_error"] = self.error_text(error)
        self.row.update(**changes)


def send_each(
    *,
    claim_next: Callable[[], Row | None],
    deliver: Callable[[Row, Any], Delivery],
    seconds_max: float,
    count_max: float = math.inf,
) -> int:
    """Send the mails that are due, one after the other over one connection. Returns how many were sent.

    Stops when none is due, when the time is up or so many are sent, and when the server is away or does not answer.
    """
    started, sent = time.monotonic(), 0
    server = get_connection()
    try:
        while sent < count_max and time.monotonic() - started <= seconds_max and (mail := claim_next()):
            outcome = deliver(mail, server)
            sent += outcome is Delivery.SENT
            if outcome is Delivery.NO_ANSWER:
                break
    finally:
        # An error here does not matter: the mail has left.
        with contextlib.suppress(OSError):
            server.close()
    return sent


def candidates_of(waiting: "QuerySet[Any]") -> "QuerySet[Any, tuple[int, datetime]]":
    """The first mails that are due: id, and since when."""
    due = waiting.filter(next_attempt_at__lte=Now()).order_by("next_attempt_at", "pk")
    return due.values_list("pk", "next_attempt_at")[:CANDIDATES_MAX]


def claim(waiting: "QuerySet[Any]", candidates: Iterable[tuple[int, datetime]], **changes: Any) -> int | None:
    """Claim the first candidate that no other worker has claimed, with these changes. Returns its id."""
    for pk, due_at in candidates:
        still_due = waiting.filter(pk=pk, next_attempt_at=due_at)
        if still_due.update(next_attempt_at=Now() + CLAIMED_FOR, attempts=F("attempts") + 1, **changes) == 1:
            return pk
    return None


def claim_due(waiting: "QuerySet[Any]") -> int | None:
    """Claim the mail that has been due the longest. Returns its id; None if none is due."""
    return claim(waiting, candidates_of(waiting))


def headers_of(name: str) -> dict[str, str]:
    """`name` is always the same for a mail, so that mail programs show one that was sent twice only once."""
    return {"Message-ID": f"<{name}@{urlsplit(settings.SHOP_URL).hostname}>", "Auto-Submitted": "auto-generated"}


def mailbox_of(email: str) -> str:
    """The same for all addresses that most mail providers deliver to one mailbox: "A.B+c@x.com" is "ab@x.com"."""
    local, _at, domain = email.strip().lower().rpartition("@")
    plain = local.partition("+")[0].replace(".", "")
    return f"{plain or local}@{domain}"


def subject_line(text: str) -> str:
    """A subject that can be sent and stored. A name in it may be long, and have a line break, which no header may."""
    line = " ".join(text.split())
    return line if len(line) <= SUBJECT_CHARACTERS_MAX else line[: SUBJECT_CHARACTERS_MAX - 1] + "…"


def hand_over(message: EmailMultiAlternatives, *, server: Any, attempt: Attempt) -> Delivery:
    """Give one message to the mail server. A fault is noted in its row."""
    try:
        server.open()
    except OSError as error:  # smtplib's exceptions are OSErrors
        attempt.wait_for_server(error)
        return Delivery.NO_ANSWER
    try:
        server.send_messages([message])
    except (OSError, ValueError) as error:  # ValueError: an invalid address
        attempt.retry_later(error)
        # A refusal concerns this mail only; no answer concerns the server.
        is_answer = isinstance(error, ValueError | smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused)
        return Delivery.NOT_SENT if is_answer else Delivery.NO_ANSWER
    return Delivery.SENT
