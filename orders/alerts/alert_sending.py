"""Sends the messages of alerts that are due, by mail and to a chat (shop/mails/outgoing_mail.py says how).

A worker that dies between sending and noting it sends a message once more, five minutes later: neither mail nor a chat
lets one do better.
"""

import contextlib
import http.client
import json
import socket
import time
from functools import partial
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models.functions import Now

from orders.models import AlertMessage
from shop import failpoints
from shop.mails.outgoing_mail import Attempt, Delivery, claim_due, hand_over, headers_of, send_each, subject_line

Channel = AlertMessage.Channel

# A call to the chat takes no longer, even if it sends a byte now and then.
POST_SECONDS_MAX = 5.0
# The pauses between 8 attempts are two hours together. Later nobody needs it.
ATTEMPTS_MAX = 8


class NotDelivered(Exception):
    """The chat did not answer 2xx. A redirect is not followed: the address holds a secret."""


def send_due(*, seconds_max: float) -> int:
    """Send what is due, until the time is up or a server does not take it. Returns how many."""
    sent = send_each(claim_next=partial(claim_next, Channel.MAIL), deliver=send_mail, seconds_max=seconds_max / 2)
    ends_s = time.monotonic() + seconds_max / 2
    while time.monotonic() < ends_s and (message := claim_next(Channel.WEBHOOK)):
        if not send_to_chat(message):
            break
        sent += 1
    return sent


def claim_next(channel: AlertMessage.Channel) -> AlertMessage | None:
    unsent = AlertMessage.objects.filter(channel=channel, sent_at=None)
    pk = claim_due(unsent)
    return None if pk is None else unsent.get(pk=pk)


def send_mail(message: AlertMessage, server: Any) -> Delivery:
    if not settings.ALERT_MAILS:
        update(message, next_attempt_at=None, last_error="switched off")
        return Delivery.NOT_SENT
    outcome = hand_over(mail_of(message), server=server, attempt=attempt_of(message))
    if outcome is Delivery.SENT:
        note_sent(message)
    return outcome


def mail_of(message: AlertMessage) -> EmailMultiAlternatives:
    subject = subject_line(message.text.splitlines()[0])
    return EmailMultiAlternatives(
        subject=subject, body=message.text, to=settings.ALERT_MAILS, headers=headers_of(f"alert.{message.pk}")
    )


def send_to_chat(message: AlertMessage) -> bool:
    """False if the chat did not take it: the other messages would fail too."""
    if not settings.ALERT_WEBHOOK_URL:
        update(message, next_attempt_at=None, last_error="switched off")
        return True
    try:
        post(settings.ALERT_WEBHOOK_URL, text=message.text)
    except (NotDelivered, OSError, http.client.HTTPException, ValueError) as error:
        attempt_of(message).retry_later(error)
        return False
    note_sent(message)
    return True


def post(address: str, *, text: str) -> None:
    """One POST as Slack, Mattermost and others take it. Uses http.client, which follows no redirect.

    Raises NotDelivered, OSError and HTTPException.
    """
    parts = urlsplit(address)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connect(parts.hostname or "", parts.port, timeout=POST_SECONDS_MAX)
    # Names of products may look like the markup by which chats call everybody.
    body = json.dumps({"text": text.replace("<", "‹").replace(">", "›")}).encode()
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    hang_up = Timer(POST_SECONDS_MAX, shut, [connection])
    hang_up.start()
    try:
        connection.request("POST", path, body=body, headers={"Content-Type": "application/json"})
        status = connection.getresponse().status
    finally:
        hang_up.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise NotDelivered(f"status {status}")


def shut(connection: http.client.HTTPConnection) -> None:
    """End a call from another thread: what waits for the answer gets an error."""
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def note_sent(message: AlertMessage) -> None:
    failpoints.reach("alerts.after_send")
    update(message, sent_at=Now(), next_attempt_at=None, last_error="")


def attempt_of(message: AlertMessage) -> Attempt:
    row = AlertMessage.objects.filter(pk=message.pk, sent_at=None)
    which = {"alert": message.pk, "channel": message.channel}
    return Attempt("alert", which, row, message.attempts, ATTEMPTS_MAX, error_text)


def error_text(error: Exception) -> str:
    """The kind of most errors: a text could contain the secret address, or that of a person."""
    return str(error) if isinstance(error, NotDelivered) else type(error).__name__


def update(message: AlertMessage, **changes: Any) -> None:
    AlertMessage.objects.filter(pk=message.pk, sent_at=None).update(**changes)
