"""A mail to the member of staff who asks for one: whether mails arrive, only a reader can say.

It goes the way of the mails to buyers: a worker of the queue for mails hands it to the mail server.
"""

import time
from typing import NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.utils.translation import gettext as _
from django.utils.translation import override

from shop.background.outages import one_line
from shop.background.queued_tasks import EXPIRES_SECONDS, queued_task

KEY = "preflight-trial-mail"
# Mail servers and their keys change. An older mail says little about those of now.
KEPT_SECONDS = 7 * 24 * 3600
ERROR_LENGTH_MAX = 300


class Trial(NamedTuple):
    """The last mail that somebody asked for. Its address is not kept: other staff read this."""

    asked_s: float
    # None until a worker has tried; then the error, or nothing.
    error: str | None


def ask_for_mail(*, to: str, language: str) -> None:
    """Queue the mail. Raises AWAY if the broker or the cache is."""
    asked_s = time.time()
    cache.set(KEY, (asked_s, None), KEPT_SECONDS)
    send_trial_mail.apply_async((to, language, asked_s), expires=EXPIRES_SECONDS)


def last_trial() -> Trial | None:
    """Raises AWAY if the cache is."""
    kept = cache.get(KEY)
    return Trial(*kept) if kept else None


@queued_task(queue="mail")
def send_trial_mail(to: str, language: str, asked_s: float) -> None:
    """Sent twice if the worker is killed in between, which does no harm."""
    with override(language):
        message = EmailMessage(
            subject=_("%(shop)s: a test mail") % {"shop": settings.SHOP_NAME},
            body=_(
                "You asked for this mail in the admin of %(shop)s. Buyers get theirs the same way. If it came as spam, "
                "let your mail provider see to SPF, DKIM and DMARC of the sender's domain before the sale."
            )
            % {"shop": settings.SHOP_NAME},
            to=[to],
            headers={"Auto-Submitted": "auto-generated"},
        )
    error = ""
    try:
        message.send()
    except (OSError, ValueError) as failure:
        # smtplib's errors are those of the system; an address that is none is a ValueError.
        error = one_line(failure)[:ERROR_LENGTH_MAX]
    cache.set(KEY, (asked_s, error), KEPT_SECONDS)
