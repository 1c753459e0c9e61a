"""The course of one rehearsal: its stages one after another, each within its time, and what was seen meanwhile."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from orders.models import Rehearsal
from orders.rehearsal import crowd, shadows
from orders.rehearsal.crowd import AGAIN, YES, Answer, Ask
from orders.rehearsal.plan import BUYERS_FROM, Refused, spread
from orders.rehearsal.rehearsal_report import Sample, Seen, made_report
from seckill import ledger
from seckill.items import item_state
from seckill.outbox import doorbell
from seckill.passes import passes
from shop.background.outages import AWAY, one_line
from shop.background.queued_tasks import EXPIRES_SECONDS, queued_task
from shop.languages.kept_texts import filled

# From publishing to the opening: the shop is asked once meanwhile, and all connections are made.
LEAD_SECONDS = 3.0
# Each has one call under way. The proxy of deploy/nginx allows one address five times as many.
CONNECTIONS = 100
# After so long no more buyers ask: a shop that is slower has been seen to be slow.
RUSH_SECONDS_MAX = 60.0
# Longer than the hold of a real sale may be waited for, and the time in which no units may stay stuck (promise P5).
ORDERS_SECONDS_MAX = RETURNS_SECONDS_MAX = 60.0
LATE_SECONDS_MAX = 15.0
# So many come late: enough to see that units are sold again.
LATE_BUYERS_MAX = 50
# Web processes remember for a tenth of a second that nothing is left.
REMEMBERED_SECONDS = 0.5
# How often the stores are read and the row is written.
LOOK_SECONDS = 0.5
# How often workers are rung for: beat's sweeps do not know the shadows.
RING_SECONDS = 1.0
# Ids and holds of one call to the store.
PORTION = 500

Stage = Rehearsal.Stage


@queued_task(queue="expiry")
def return_units(*, rehearsal_id: int) -> int:
    """Put the units of unpaid holds back on sale, as `expire_overdue` does for those of orders."""
    rehearsal = Rehearsal.objects.filter(pk=rehearsal_id, status=Rehearsal.Status.RUNNING).first()
    return shadows.release_overdue(rehearsal) if rehearsal else 0


class Course:
    """One run. `show` is called after each look."""

    def __init__(self, rehearsal: Rehearsal, *, show: Callable[[Rehearsal], object]) -> None:
        self._rehearsal = rehearsal
        self._show = show
        self._address = crowd.address_of(
            settings.SHOP_URL, path=reverse("api-reserve", args=[0]).replace("/0/", "/%d/")
        )
        self._seen = Seen()
        self._rung_s = 0.0

    def report(self) -> dict[str, Any]:
        """Go through all stages. Raises Refused, AWAY."""
        asks = self._asks(range(self._rehearsal.buyers))
        self._look(Stage.PREPARING)
        starts_s = self._open()
        self._rush(asks, starts_s=starts_s)
        self._wait_for_orders(Stage.ORDERS, seconds_max=ORDERS_SECONDS_MAX)
        self._seen.written_s = time.monotonic()
        self._check_promises()
        self._pay()
        self._wait_for_returns()
        self._let_late_buyers_ask()
        self._wait_for_orders(Stage.LATE, seconds_max=LATE_SECONDS_MAX)
        return made_report(self._rehearsal, self._seen)

    def _asks(self, numbers: range) -> list[Ask]:
        shadow_ids, places = self._rehearsal.shadow_ids, spread(len(numbers), self._rehearsal.items)
        return [ask_of(shadow_ids[place], number=number) for number, place in zip(numbers, places, strict=True)]

    def _open(self) -> float:
        """Publish the shadows, and see that the address is that of this shop. Returns when they open."""
        first = self._rehearsal.shadow_ids[0]
        opens_ms = ledger.clock_ms(item_id=first) + int(LEAD_SECONDS * 1000)
        starts_s = time.monotonic() + LEAD_SECONDS
        shadows.publish(self._rehearsal, opens_ms=opens_ms)
        (ask,) = self._asks(range(self._rehearsal.buyers, self._rehearsal.buyers + 1))
        values: dict[str, Any] = {"url": settings.SHOP_URL}
        try:
            word = crowd.first_word(self._address, ask)
        except OSError as error:
            text = _("Nobody answers at the shop's address, %(url)s (SHOP_URL): %(error)s")
            raise Refused(filled(text, error=one_line(error), **values)) from error
        if word != "not_open":
            text = _(
                "At %(url)s (SHOP_URL) another shop answers, or something in front of this one: it said “%(word)s” "
                "instead of “not_open”."
            )
            raise Refused(filled(text, word=word, **values))
        return starts_s

    def _rush(self, asks: list[Ask], *, starts_s: float) -> None:
        seen = self._seen
        seen.starts_s = starts_s
        work = threading.Thread(target=self._send, args=(asks, starts_s, RUSH_SECONDS_MAX, seen.answers), daemon=True)
        work.start()
        while work.is_alive():
            work.join(LOOK_SECONDS)
            self._look(Stage.RUSH)
        seen.rush_ends_s = max((answer.at_s for answer in seen.answers if answer.tries), default=starts_s)

    def _send(self, asks: list[Ask], starts_s: float, seconds_max: float, answers: list[Answer]) -> None:
        busy_s = time.thread_time()
        crowd.ask_all(
            self._address,
            asks,
            connections=min(CONNECTIONS, len(asks)),
            starts_s=starts_s,
            ends_s=starts_s + seconds_max,
            answers=answers,
        )
        self._seen.busy_seconds = max(self._seen.busy_seconds, time.thread_time() - busy_s)

    def _wait_for_orders(self, stage: Rehearsal.Stage, *, seconds_max: float) -> None:
        give_up_s = time.monotonic() + seconds_max
        while self._look(stage).backlog and time.monotonic() < give_up_s:
            time.sleep(LOOK_SECONDS)

    def _check_promises(self) -> None:
        """Each yes must be a hold of the store."""
        for item_id, ids in self._seen.yes_ids().items():
            for start in range(0, len(ids), PORTION):
                holds = item_state.find_holds(item_id=item_id, reservation_ids=ids[start : start + PORTION])
                self._seen.lost += sum(hold is None for hold in holds)

    def _pay(self) -> None:
        """Every second buyer pays."""
        for item_id, ids in self._seen.yes_ids().items():
            payers = ids[::2]
            for start in range(0, len(payers), PORTION):
                ledger.confirm(item_id=item_id, reservation_ids=payers[start : start + PORTION])

    def _wait_for_returns(self) -> None:
        seen = self._seen
        seen.unpaid = self._look(Stage.RETURNS).held
        deadline_s = max(seen.rush_ends_s + shadows.HOLD_SECONDS, time.monotonic())
        give_up_s = deadline_s + RETURNS_SECONDS_MAX
        asked_s = 0.0
        while (sample := self._look(Stage.RETURNS)).held and time.monotonic() < give_up_s:
            if time.monotonic() >= max(deadline_s, asked_s + RING_SECONDS):
                asked_s = time.monotonic()
                # A broker that is away says nothing about the worker.
                return_units.apply_async(
                    kwargs={"rehearsal_id": self._rehearsal.pk}, expires=EXPIRES_SECONDS, retry=False
                )
            time.sleep(LOOK_SECONDS)
        seen.still_held = sample.held
        seen.return_seconds = max(time.monotonic() - deadline_s, 0.0)

    def _let_late_buyers_ask(self) -> None:
        """They come when units are back: as many as there are units, so each must be told yes."""
        time.sleep(REMEMBERED_SECONDS)
        first = self._rehearsal.buyers + 1
        asks: list[Ask] = []
        for item_id, counters in shadows.read(self._rehearsal).items():
            room = min(counters.left or 0, LATE_BUYERS_MAX - len(asks))
            asks += [ask_of(item_id, number=first + number) for number in range(len(asks), len(asks) + room)]
        self._look(Stage.LATE)
        if asks:
            self._send(asks, time.monotonic(), LATE_SECONDS_MAX, self._seen.late_answers)

    def _look(self, stage: Rehearsal.Stage) -> Sample:
        """Read the store, ring for the workers, and write the row.

        Raises Refused where it was taken for dead, or where not all shadows can be read any more.
        """
        found = shadows.read(self._rehearsal)
        sample = Sample.of(found.values(), at_s=time.monotonic() - self._seen.starts_s)
        if self._seen.starts_s:
            self._seen.samples.append(sample)
        self._ring([item_id for item_id, counters in found.items() if counters.backlog])
        words = Counter(answer.word for answer in [*self._seen.answers, *self._seen.late_answers])
        yes = words[YES] + words[AGAIN]
        figures = {"asked": words.total(), "yes": yes, "waiting": sample.backlog, "held": sample.held}
        if not self._rehearsal.go_on(stage=stage, figures=figures):
            raise Refused(_("The rehearsal was ended from elsewhere."))
        if self._seen.starts_s and len(found) < len(self._rehearsal.shadow_ids):
            # After a restart the store is compared with the orders of sales: shadows are never verified again.
            raise Refused(
                _("The reservation store was restarted during the rehearsal, or one of its servers does not answer.")
            )
        self._rehearsal.stage, self._rehearsal.figures = stage, figures
        self._show(self._rehearsal)
        return sample

    def _ring(self, item_ids: list[int]) -> None:
        if time.monotonic() - self._rung_s < RING_SECONDS:
            return
        self._rung_s = time.monotonic()
        for item_id in item_ids:
            with suppress(*AWAY):
                doorbell.send(item_id)


def ask_of(item_id: int, *, number: int) -> Ask:
    """The simulated buyer of this number, with a pass."""
    text = passes.issue(item_id=item_id, buyer_id=BUYERS_FROM + number, expires_s=passes.expiry_s())
    return Ask(item_id, text)
