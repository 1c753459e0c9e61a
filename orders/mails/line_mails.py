"""Mails to those who got no units: in a waiting list at the end of its sale, and in a draw after it. Each is told once.
Units that came have a mail of their order (Mail.Kind.FROM_LINE, Mail.Kind.WON).

Rows are written in portions, then the item or the entries are marked. After a crash the portions are written again, and
those that are there stay. The places of a waiting list stay in the store until the sale is archived: where staff open
it again, they count again.
"""

import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMultiAlternatives
from django.db.models.functions import Greatest, Now
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from orders.mails.sending import ATTEMPTS_MAX, NO_ADDRESS, TOO_MANY, text_of
from orders.models import LineMail, Mail
from seckill import ledger
from seckill.draw.draw_answers import no_units_text
from seckill.items.loop import for_each_item, until
from seckill.line.line_ledger import portion_of_places
from seckill.line.waiting_list import ended_lines
from seckill.models import DrawEntry, SaleItem
from seckill.phase import Phase
from shop.accounts.limits import may_get_mail
from shop.accounts.mail_texts import AccountMailText, message_from
from shop.databases.database_clock import database_now
from shop.languages.buyer_language import language_of
from shop.mails.outgoing_mail import Attempt, Delivery, claim_due, hand_over, headers_of, send_each
from shop.times.timestamps import from_ms

log = structlog.get_logger(__name__)

# Places in one answer of the store, and rows in one statement.
PORTION = 500
# Of thousands that wait, a sweep sends so many: with one every five seconds, forty leave in a second.
SENT_AT_ONCE_MAX = 200


def tell_ended_lines(*, seconds_max: float) -> int:
    """Queue the mails of lines whose sale has ended. Returns how many. Raises StoreUnreachable."""
    ends_s = time.monotonic() + seconds_max
    item_ids = list(ended_lines().values_list("pk", flat=True))
    counts, _ = for_each_item(tell_line, item_ids=until(ends_s, item_ids), event="line_not_told")
    return sum(counts.values())


def tell_line(item_id: int) -> int:
    """Queue a mail for everybody who still waits for the item. Returns how many."""
    figures = ledger.read(item_id=item_id)
    if figures is None or figures.phase is not Phase.ENDED:
        # By the store's clock the sale is open, or the item is being compared: the next sweep.
        return 0
    count, cursor = 0, -1
    while cursor:
        cursor, places = portion_of_places(item_id=item_id, cursor=max(cursor, 0), count=PORTION)
        count += enqueue(item_id=item_id, buyer_ids=list(places))
    SaleItem.objects.filter(pk=item_id).update(line_ended_at=Greatest(Now(), from_ms(figures.closes_ms)))
    if count:
        log.info("line_ended", item_id=item_id, told=count)
    return count


def enqueue(*, item_id: int, buyer_ids: list[int]) -> int:
    """Queue a mail for each buyer who has an address and an account that is not blocked. Idempotent."""
    told = LineMail.objects.filter(item_id=item_id, buyer_id__in=buyer_ids).values("buyer_id")
    buyers = User.objects.filter(pk__in=buyer_ids, is_active=True).exclude(email="").exclude(pk__in=told)
    mails = [LineMail(item_id=item_id, buyer=buyer, next_attempt_at=Now()) for buyer in buyers.order_by("pk")]
    LineMail.objects.bulk_create(mails, ignore_conflicts=True)
    return len(mails)


def send_due(*, seconds_max: float) -> int:
    """Send the mails that are due: as many as one sweep may, until the time is up or the server is away."""
    return send_each(claim_next=claim_next, deliver=deliver, seconds_max=seconds_max, count_max=SENT_AT_ONCE_MAX)


def claim_next() -> LineMail | None:
    unsent = LineMail.objects.filter(sent_at=None)
    pk = claim_due(unsent)
    mails = LineMail.objects.select_related("buyer", "item__sale", "item__variant__product")
    return None if pk is None else mails.filter(pk=pk).first()


def deliver(mail: LineMail, server: Any) -> Delivery:
    if not (mail.buyer.email and mail.buyer.is_active):
        update_mail(mail, next_attempt_at=None, last_error=NO_ADDRESS)
        return Delivery.NOT_SENT
    # A script's thousand accounts may all have the address of one stranger. A mail that was tried before is counted.
    if not mail.last_error and not may_get_mail(mail.buyer.email, user=mail.buyer, is_former=False):
        update_mail(mail, next_attempt_at=None, last_error=TOO_MANY)
        return Delivery.NOT_SENT
    message = message_to(mail)
    if message is None:
        # Should they get nothing after all, there will be another one.
        LineMail.objects.filter(pk=mail.pk).delete()
        return Delivery.NOT_SENT
    row = LineMail.objects.filter(pk=mail.pk, sent_at=None)
    attempt = Attempt("line_mail", {"mail": mail.pk}, row, mail.attempts, ATTEMPTS_MAX, text_of)
    outcome = hand_over(message, server=server, attempt=attempt)
    if outcome is Delivery.SENT:
        update_mail(mail, sent_at=Now(), next_attempt_at=None, last_error="")
    return outcome


def message_to(mail: LineMail) -> EmailMultiAlternatives | None:
    """None if it is not true any more: the line goes on, or the buyer has got units in the meantime."""
    with translation.override(language_of(user_id=mail.buyer_id)):
        text = text_of_draw(mail) if mail.item.sale.has_draw else text_of_line(mail)
        message = message_from(text, to=mail.buyer.email) if text else None
    if message is not None:
        message.extra_headers |= headers_of(f"line.{mail.item_id}.{mail.pk}")
    return message


def text_of_line(mail: LineMail) -> AccountMailText | None:
    # By PostgreSQL's clock, which also said that the line ends. At another end there is another mail.
    has_ended = SaleItem.objects.filter(pk=mail.item_id, sale__closes_at__lte=Now()).exists()
    since = {"order__lines__sale_item": mail.item_id, "order__created_at__gt": mail.created_at}
    if not has_ended or Mail.objects.filter(kind=Mail.Kind.FROM_LINE, order__buyer=mail.buyer_id, **since).exists():
        return None
    product, sale = str(mail.item.variant), str(mail.item.sale)
    return AccountMailText(
        subject=_("Nothing came back: %(product)s") % {"product": product},
        name=mail.buyer.get_username(),
        sentences=[
            _("You waited for “%(product)s” in “%(sale)s”. The sale has ended, and no units came back for you.")
            % {"product": product, "sale": sale},
            _("Your place in the waiting list ends with the sale. Nothing was charged."),
        ],
        button=_("See the shop"),
        url=settings.SHOP_URL,
        if_not_you=_("You need not do anything."),
    )


def text_of_draw(mail: LineMail) -> AccountMailText | None:
    entries = DrawEntry.objects.filter(item=mail.item_id, buyer=mail.buyer_id, status=DrawEntry.Status.NOT_WON)
    entry = entries.first()
    if entry is None:
        return None
    product = {"product": mail.item.variant}
    return AccountMailText(
        subject=_("The draw is over: %(product)s") % product,
        name=mail.buyer.get_username(),
        sentences=[
            (_("Your entry for “%(product)s” got no units.") % product)
            if entry.won_at_draw
            else _("Your entry for “%(product)s” has not won.") % product,
            _("Your place in the drawn order is %(place)d.") % {"place": entry.place or 0},
            no_units_text(entry, item=mail.item, is_over=mail.item.phase_at(database_now()) is Phase.ENDED),
            _("On the page of the draw everybody can compute the result anew."),
        ],
        button=_("The draw"),
        url=settings.SHOP_URL + reverse("draw", args=[mail.item.sale_id]),
    )


def update_mail(mail: LineMail, **changes: Any) -> None:
    LineMail.objects.filter(pk=mail.pk, sent_at=None).update(**changes)
