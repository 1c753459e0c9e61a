"""Looks at the sale itself: its window, the rules of publishing, its translations."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.timesince import timeuntil
from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Finding, good, listed, stop, warning
from seckill.models import Sale
from seckill.publication import CannotPublish, check_publishable, take_out_of_stock
from shop.languages.kept_texts import filled
from shop.times.zone import words_for

in_words = lazy(words_for, str)
time_until = lazy(timeuntil, str)


def look_at_window(sale: Sale) -> Iterator[Finding]:
    now: datetime = timezone.now()
    window = {"opens": in_words(sale.opens_at), "closes": in_words(sale.closes_at)}
    if sale.closes_at <= now:
        yield stop(
            _("The sale has ended: it was open from %(opens)s to %(closes)s."),
            _("Choose a later end, or copy it into a new sale."),
            **window,
        )
    elif sale.opens_at <= now:
        text = _("The sale is open, from %(opens)s to %(closes)s. It ends in %(left)s.")
        yield good(text, left=time_until(sale.closes_at, now), **window)
    else:
        text = _("The sale is open from %(opens)s to %(closes)s. It opens in %(left)s.")
        yield good(text, left=time_until(sale.opens_at, now), **window)
    if sale.paused:
        yield stop(_("The sale is paused."), _("Resume it on its page in the admin."))
    if alone := list(sale.items.filter(paused=True).select_related("variant__product")):
        text = _("Paused alone, so nobody can reserve them: %(items)s.")
        yield warning(text, _("Resume them on the sale's page in the admin."), items=listed(alone))


def look_at_terms(sale: Sale) -> Iterator[Finding]:
    """A draft is published and taken back in one transaction, so the rules are those of the button."""
    if sale.is_published:
        waiting = list(sale.items.filter(announced_at=None).select_related("variant__product"))
        if waiting:
            yield stop(
                _("Published, but not in the reservation store yet: %(items)s."),
                _("See what is said about the servers, mend that, and look again."),
                items=listed(waiting),
            )
        else:
            yield good(_("Published, and the reservation store has all its items."))
    else:
        try:
            with transaction.atomic():
                check_publishable(sale)
                take_out_of_stock(sale, made_by=None)
                transaction.set_rollback(True)
        except CannotPublish as refusal:
            yield stop(refusal.args[0], _("Change it on the sale's page in the admin."))
        else:
            text = _("The sale is a draft. Nothing speaks against publishing it.")
            yield warning(text, _("Publish it in the admin."))
    for item in sale.items.filter(quantity=None).select_related("variant__product"):
        text = _("“%(item)s” has no limit: every buyer gets units.")
        yield warning(text, _("Give it a quantity, unless you mean it."), item=item)


def look_at_languages(sale: Sale) -> Iterator[Finding]:
    """Names that a language lacks are shown in another one."""
    products = {item.variant.product for item in sale.items.select_related("variant__product")}
    languages = [code.replace("-", "_") for code, _name in settings.LANGUAGES]
    lacking = [
        filled("“%(thing)s” (%(code)s)", thing=thing, code=code)
        for thing in (sale, *products)
        for code in languages
        if not getattr(thing, f"name_{code}")
    ]
    if lacking:
        text = _("Names without a translation: %(names)s.")
        yield warning(text, _("Fill them in, in the admin."), names=listed(lacking))
    else:
        yield good(_("The names of the sale and its products are there in all languages."))
