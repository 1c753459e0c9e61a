"""Compares what is wrong with what was said of it, and writes one message for each change.

Row and messages are one transaction: a process that is killed has written both or neither, and of two that find the
same change one writes it. Sending is another task, so nobody waits for a mail server or a chat.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from orders.alerts.alert_looks import LOOKS, Look
from orders.models import Alert, AlertKind, AlertMessage
from shop import failpoints
from shop.background import outages
from shop.background.outages import AWAY

log = structlog.get_logger(__name__)

# So many subjects are named in a message; of the others it says how many there are.
NAMED_MAX = 10
KEPT_FOR = timedelta(days=30)

# By kind: the page of the admin that shows it.
PAGES = {
    AlertKind.SOLD_OUT: "seckill_saleitem_changelist",
    AlertKind.LAG: "index",
    AlertKind.DIFFERENCE: "index",
    AlertKind.REFUND_FAILED: "orders_ordertolookat_changelist",
    AlertKind.NOT_READY: "seckill_sale_changelist",
}


def watch() -> int:
    """Look at everything once. Returns how many messages were written.

    Looks at a server that is silent keep their state.
    """
    AlertMessage.objects.filter(created_at__lt=Now() - KEPT_FOR).delete()
    written = 0
    with override(settings.ALERT_LANGUAGE):
        for look in LOOKS:
            found = looked(look)
            if found is not None:
                written += note_changes(found)
    return written


def looked(look: Callable[[], Look]) -> Look | None:
    """None while a server is away, or after a mistake of the shop: the other looks go on."""
    work = f"alert look: {look.__name__}"
    try:
        found = look()
    except AWAY as error:
        outages.wait(work, error)
        return None
    except Exception:
        log.exception("alert_look_failed", look=look.__name__)
        return None
    outages.go_on(work)
    return found


def note_changes(look: Look) -> int:
    """Begin and end alerts, with their messages. Returns how many messages were written."""
    with transaction.atomic():
        known = dict(Alert.objects.filter(kind=look.kind).values_list("subject", "title"))
        began = [
            title for subject, title in look.on.items() if subject not in known and begin(look.kind, subject, title)
        ]
        ended = [
            known[subject]
            for subject in sorted(known.keys() - look.on.keys() - set(look.unknown))
            if end(look.kind, subject) and (look.says_rest or subject in look.off)
        ]
        texts = [
            str(text) % {"what": listed(titles), "time": listed(titles)}
            for text, titles in ((BEGAN[look.kind], began), (OVER[look.kind], ended))
            if titles
        ]
        messages = [message for text in texts for message in messages_of(text, look.kind)]
        AlertMessage.objects.bulk_create(messages)
        failpoints.reach("alerts.before_commit")
    return len(messages)


def begin(kind: AlertKind, subject: str, title: str) -> bool:
    """False if another process was faster."""
    return Alert.objects.get_or_create(kind=kind, subject=subject, defaults={"title": title[:500]})[1]


def end(kind: AlertKind, subject: str) -> bool:
    return Alert.objects.filter(kind=kind, subject=subject).delete()[0] == 1


def messages_of(text: str, kind: AlertKind) -> Iterable[AlertMessage]:
    whole = f"{settings.SHOP_NAME}: {text}\n{settings.SHOP_URL}{reverse(f'admin:{PAGES[kind]}')}"
    channels = {
        AlertMessage.Channel.MAIL: settings.ALERT_MAILS,
        AlertMessage.Channel.WEBHOOK: settings.ALERT_WEBHOOK_URL,
    }
    return [
        AlertMessage(channel=channel, text=whole, next_attempt_at=Now())
        for channel, is_set in channels.items()
        if is_set
    ]


def listed(titles: Sequence[str]) -> str:
    named = ", ".join(titles[:NAMED_MAX])
    others = len(titles) - NAMED_MAX
    return _("%(named)s and %(count)d more") % {"named": named, "count": others} if others > 0 else named


# `time` says the same as `what`, for the one subject that is a time.
BEGAN = {
    AlertKind.SOLD_OUT: gettext_lazy("Sold out: %(what)s"),
    AlertKind.LAG: gettext_lazy("Reservations wait to become orders, the oldest for %(time)s."),
    AlertKind.DIFFERENCE: gettext_lazy("An audit found a difference: %(what)s"),
    AlertKind.REFUND_FAILED: gettext_lazy("Refund failed: %(what)s"),
    AlertKind.NOT_READY: gettext_lazy("Opens within the hour and is not ready: %(what)s"),
}
OVER = {
    AlertKind.SOLD_OUT: gettext_lazy("Units are left again: %(what)s"),
    AlertKind.LAG: gettext_lazy("Reservations become orders in time again."),
    AlertKind.DIFFERENCE: gettext_lazy("The difference is gone: %(what)s"),
    AlertKind.REFUND_FAILED: gettext_lazy("The failed refund is dealt with: %(what)s"),
    AlertKind.NOT_READY: gettext_lazy("Ready now: %(what)s"),
}
