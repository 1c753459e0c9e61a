"""The webhooks of the simulated payment company: signed, over real HTTP, from rows that survive a crash.

A message is retried with growing pauses until the shop answers 2xx, and given up after two days.
"""

import contextlib
import http.client
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from orders.payments.provider.timing import claim_attempt
from orders.payments.simulated import company
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from orders.payments.simulated.models import SimulatedMessage, SimulatedSession
from shop.databases.database_clock import database_now

log = structlog.get_logger(__name__)

BATCH_MAX = 50
# A running shop answers within milliseconds.
TIMEOUT_SECONDS = 3
# With pauses of up to WAIT_SECONDS_MAX this takes two days, as a real company would.
ATTEMPTS_MAX = 600


class NotDelivered(Exception):
    """The shop did not answer 2xx; the message has its answer."""


def deliver_due() -> int:
    """Deliver one batch of due messages. Returns how many the shop has accepted."""
    company.finish_slow(batch_max=BATCH_MAX)
    due = SimulatedMessage.objects.filter(delivered_at=None, deliver_at__lte=Now(), attempts__lt=ATTEMPTS_MAX)
    delivered = 0
    for message in due.order_by("deliver_at", "pk")[:BATCH_MAX]:
        try:
            delivered += deliver(message=message)
        except OSError:
            # The shop cannot be reached, so the other messages would fail too.
            break
    return delivered


def deliver_now(*, session: SimulatedSession) -> None:
    """Deliver the due messages of one page at once. The sweep retries what the shop does not accept."""
    with contextlib.suppress(OSError):
        for message in session.messages.filter(delivered_at=None, attempts=0, deliver_at__lte=Now()):
            deliver(message=message)


def deliver(*, message: SimulatedMessage) -> bool:
    """Send the message once. False if another worker sends it, or the shop did not accept it. Raises OSError."""
    attempts = message.attempts + 1
    claimed = SimulatedMessage.objects.filter(pk=message.pk)
    undelivered = claimed.filter(delivered_at=None)
    if not claim_attempt(undelivered, attempts_before=message.attempts, column="deliver_at"):
        return False
    try:
        post(body=message.body.encode())
    except (NotDelivered, http.client.HTTPException, OSError) as error:
        log.warning("simulated_message_not_accepted", event_id=message.event_id, attempts=attempts, error=str(error))
        claimed.update(last_error=repr(error)[:500])
        if isinstance(error, OSError):
            raise
        return False
    claimed.update(delivered_at=timezone.now(), last_error="")
    return True


def post(*, body: bytes) -> None:
    """One signed POST. Uses http.client because that ignores proxy settings. Raises NotDelivered."""
    address = urlsplit(settings.SHOP_URL)
    secure = address.scheme == "https"
    connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = connect(address.hostname or "127.0.0.1", address.port, timeout=TIMEOUT_SECONDS)
    headers = {
        "Content-Type": "application/json",
        SIGNATURE_HEADER: signature_header(body=body, signed_s=int(database_now().timestamp())),
    }
    with contextlib.closing(connection):
        connection.request("POST", reverse("api-payment-webhook", args=["simulated"]), body=body, headers=headers)
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            raise NotDelivered(f"{response.status} {response.read(200)!r}")
