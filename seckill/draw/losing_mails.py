"""The mail to people whose entries have not won. Winners get one about their order (orders/life/draw_results.py)."""

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from seckill.models import DrawEntry
from shop.accounts import mail_queue
from shop.accounts.mail_texts import AccountMailText, message_from
from shop.languages.buyer_language import language_of
from shop.models import AccountMail

BATCH_MAX = 100
# Mails about accounts are sent in their order, and nobody should wait for a new password behind thousands of these.
WAITING_MAX = 200
SUBJECT_LENGTH_MAX = 200


def tell_others() -> int:
    """Queue mails for entries that have not won, as many as do not delay other mails. Returns how many."""
    if AccountMail.objects.count() >= WAITING_MAX:
        return 0
    with transaction.atomic():
        untold = DrawEntry.objects.select_for_update(skip_locked=True, of=("self",)).filter(
            status=DrawEntry.Status.NOT_WON, told_at=None
        )
        untold = untold.select_related("buyer", "item__variant__product").order_by("pk")
        entries = list(untold[:BATCH_MAX])
        for entry in entries:
            if entry.buyer.email and entry.buyer.is_active:
                with translation.override(language_of(user_id=entry.buyer_id)):
                    mail_queue.queue(message_from(losing(entry), to=entry.buyer.email))
        DrawEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(told_at=Now())
    return len(entries)


def losing(entry: DrawEntry) -> AccountMailText:
    product = {"product": entry.item.variant}
    return AccountMailText(
        # A name may have a line break, and may be longer than the column.
        subject=" ".join((_("The draw is over: %(product)s") % product).split())[:SUBJECT_LENGTH_MAX],
        name=entry.buyer.get_username(),
        sentences=[
            _("Your entry for “%(product)s” has not won.") % product,
            _("Your place in the drawn order is %(place)d.") % {"place": entry.place or 0},
            _(
                "Units that winners do not pay for go to the next in the drawn order, until the sale ends. If some "
                "come to you, we will write to you."
            ),
            _("On the page of the draw everybody can compute the result anew."),
        ],
        button=_("The draw"),
        url=settings.SHOP_URL + reverse("draw", args=[entry.item.sale_id]),
    )
