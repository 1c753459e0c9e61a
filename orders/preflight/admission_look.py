"""The look at how the units are given out: what a draw, a waiting room or a waiting list needs."""

import time
from collections.abc import Iterator
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Finding, good, stop, warning
from orders.preflight.page_look import NotAnswered, fetch, not_answered
from orders.preflight.sale_looks import in_words, time_until
from seckill.draw.draw_answers import DrawStage, stage_of, sums_of
from seckill.draw.drawing import seed_sha256
from seckill.models import Draw, Sale
from seckill.waiting_room.admission import PACE_MAX
from seckill.waiting_room.room_ledger import read_room
from shop.background.queued_tasks import known_sweeps
from shop.background.sweep_notes import last_notes
from shop.languages.kept_texts import Text

# The sweeps meant here run each second, and their workers note it every five.
SWEEP_AGE_SECONDS_MAX = 30
# People hear of a draw, and later of having won, by mail.
ENTRIES_OPEN_FOR = TIME_TO_PAY = timedelta(hours=1)
# What the shop answers to somebody without a place.
PLACE_NEEDED = 401
HASH_LENGTH_SHOWN = 16


def look_at_admission(sale: Sale) -> Iterator[Finding]:
    if sale.has_draw:
        yield from about_entries(sale)
        yield from about_winners(sale)
        yield sweep_finding(
            "carry_out_draws",
            _("The task that carries out draws runs each second."),
            _("The task that carries out draws does not run, so nothing would be drawn."),
        )
    elif sale.has_room:
        yield from about_room(sale)
        yield sweep_finding(
            "move_waiting_rooms",
            _("The task that calls the next in the waiting room runs each second."),
            _("The task that calls the next in the waiting room does not run, so nobody would be let in."),
        )
    else:
        text = _("First come, first served: buyers get passes from %(time)s on.")
        yield good(text, time=in_words(sale.passes_open_at))
    if sale.waiting_list and sale.has_draw:
        yield warning(
            _("A draw has an order of its own for units that come back. Its waiting list does nothing."),
            _("Uncheck “waiting list” in the draft. In a published sale it does no harm."),
        )
    elif sale.waiting_list:
        yield sweep_finding(
            "hand_on_units",
            _("Buyers who come too late can wait, and the task that hands units on to them runs each second."),
            _("The task that hands units on to the waiting list does not run, so units that come back would lie idle."),
        )


def about_entries(sale: Sale) -> Iterator[Finding]:
    """They are taken until the opening; then the draw must come at once."""
    now, draw = timezone.now(), Draw.objects.select_related("sale").defer("file").filter(pk=sale.pk).first()
    late = timedelta(seconds=SWEEP_AGE_SECONDS_MAX)
    if draw is None and sale.is_published:
        yield stop(
            _("No seed was drawn when the sale was published, so nothing can be drawn."),
            _("End this sale, duplicate it, and publish the copy."),
        )
    elif draw is None:
        values = {"opens": in_words(sale.opens_at), "left": time_until(sale.opens_at, now)}
        text = _("People can enter from the publishing until the opening, %(opens)s: that is %(left)s from now.")
        if sale.opens_at - now < ENTRIES_OPEN_FOR:
            yield warning(text, _("Choose a later opening, so that people hear of the draw."), **values)
        else:
            yield good(text, **values)
    elif draw.drawn_at is not None:
        yield good(_("The units were drawn at %(time)s."), time=in_words(draw.drawn_at))
    elif sale.opens_at + late < now:
        yield stop(
            _("The opening has passed, and the units are not drawn."),
            _("Look for draw_not_carried_out in the log of the worker: it says why. No entry is lost meanwhile."),
        )
    else:
        entries, units = sums_of(sale)
        values = {"opens": in_words(sale.opens_at), "entries": f"{entries:,}", "units": f"{units:,}"}
        if stage_of(draw) is DrawStage.OPEN:
            text = _("People can enter until the opening, %(opens)s. So far %(entries)s have, for %(units)s units.")
            yield good(text, **values)
        text = _("The hash of the seed is public, so that everybody can check the draw: %(hash)s…")
        yield good(text, hash=seed_sha256(draw.seed)[:HASH_LENGTH_SHOWN])


def about_winners(sale: Sale) -> Iterator[Finding]:
    """They need time to pay, and the next ones need what is left of the sale."""
    to_pay = timedelta(seconds=sale.hold_seconds)
    # At the end nothing is given any more.
    rounds = max((sale.closes_at - sale.opens_at - timedelta(seconds=1)) // to_pay, 0)
    values = {"time": time_until(sale.opens_at + to_pay, sale.opens_at), "rounds": rounds}
    if to_pay < TIME_TO_PAY:
        yield warning(
            _("Winners hear by mail that they have won, and then have %(time)s to pay."),
            _("Choose some hours as “seconds to pay” before you publish. Afterwards they stay as they are."),
            **values,
        )
    if not rounds:
        yield warning(
            _("The sale ends before the time to pay of its winners: units that they do not pay for go to nobody."),
            _("Choose a later end: each round takes %(time)s."),
            **values,
        )
    else:
        text = _(
            "Winners have %(time)s to pay. Until the end, units that nobody pays for can go on to the next %(rounds)s "
            "times."
        )
        yield good(text, **values)


def about_room(sale: Sale) -> Iterator[Finding]:
    now = timezone.now()
    minutes = max((sale.closes_at - max(sale.opens_at, now)) // timedelta(minutes=1), 1)
    units = sum(item.quantity or 0 for item in sale.items.all())
    values = {"pace": sale.pace, "people": f"{(sale.pace or 0) * minutes:,}", "units": f"{units:,}"}
    if sale.pace is None:
        text = _("People are let in as fast as orders and payments can take, up to %(most)s a minute.")
        yield good(text, most=f"{PACE_MAX:,}")
    elif sale.pace * minutes < units:
        yield warning(
            _("With %(pace)s people a minute, %(people)s are let in until the end, and there are %(units)s units."),
            _("Raise “people a minute”: in the draft, or by “Change the pace” on the page of the published sale."),
            **values,
        )
    else:
        text = _("With %(pace)s people a minute, up to %(people)s can be let in until the end.")
        yield good(text, **values)
    if not sale.is_published:
        return
    if now < sale.passes_open_at:
        yield good(_("People can join the line from %(time)s on."), time=in_words(sale.passes_open_at))
    elif room := read_room(sale_id=sale.pk):
        text = _("The line is there: %(people)s people have joined, %(called)s places are called.")
        yield good(text, people=f"{room.arrivals:,}", called=f"{room.called:,}")
    else:
        yield stop(
            _("The reservation store does not have the waiting room."),
            _("A task makes it within seconds: look again. If it stays so, see what is said about workers."),
        )
    yield place_finding(sale)


def place_finding(sale: Sale) -> Finding:
    """Whether questions for a place reach the shop, as they do from everybody who waits."""
    path = reverse("api-queue", args=[sale.pk])
    try:
        fetch(path)
    except NotAnswered as error:
        if error.status != PLACE_NEEDED:
            return not_answered(path, error)
    return good(_("The shop answers those who ask for their place."))


def sweep_finding(name: str, runs: Text, is_away: Text) -> Finding:
    note = last_notes([name])[name]
    if note.waited_seconds is not None and time.time() - note.at_s <= SWEEP_AGE_SECONDS_MAX:
        return good(runs)
    todo = _("Start Celery beat, and a worker of the queue %(queue)s. If both run, the log of the worker says why.")
    return stop(is_away, todo, queue=known_sweeps()[name].queue)
