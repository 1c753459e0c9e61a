"""The gate: answers certain refusals and live figures in the event loop of a web process, before Django is entered.

It answers byte for byte as the views would: bodies come from the functions of the views, headers and language from real
answers of the views (web/reservations/headers.py).

Where the gate is not certain, it returns None: the store or a view is asked.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import override
from rest_framework.renderers import JSONRenderer

from seckill.api.views import refusal
from seckill.ledger import Counters, Reservation
from seckill.live.answer import live_body, live_etag, may_have_given_back, sale_live_body, with_units_offered
from seckill.live.answer_counts import AnswerCounts, answer_counts
from seckill.live.opening import waiting_pages
from seckill.outcomes import Outcome
from seckill.passes.passes import Pass
from seckill.phase import Phase
from seckill.store.portions import Clock
from seckill.waiting_room.place_tokens import PlaceToken
from shop.times.timestamps import now_ms
from web.reservations.calls import LIVE_KINDS, OF_SIGNED_IN, Kind, OrdinaryCall, Question
from web.reservations.headers import (
    LIVE,
    NOT_MODIFIED,
    UNREPEATABLE,
    HeaderTemplate,
    Rendered,
    ViewAnswers,
    answer_of,
)
from web.reservations.rooms import Rooms
from web.reservations.snapshots import AWAY, Away, Snapshot, Snapshots
from web.wsgi_request import RawAnswer

# How long all clients get the same bytes: rendering takes ten times as long as answering.
RENDERED_SECONDS = 0.01
# Figures of this age are shown, where a refusal needs newer ones: on a busy host the reader may be late, and the view
# of a sale's figures asks PostgreSQL, which may be away.
LIVE_AGE_SECONDS_MAX = 0.5
# How often a view is asked again which items a sale has. A published sale keeps its items.
SALE_ASKED_SECONDS = 10.0
# How long the items are remembered while no view can say them, usually because PostgreSQL is away.
SALE_REMEMBERED_SECONDS = 600.0
# Clients ask for these, so they are bounded: beyond, all are made again.
RENDERED_MAX = 10_000
REPEATED_MAX = 1_000
SALES_MAX = 1_000
# How long it is remembered how many units an item had before its end, as it was seen then or as a view said. Units may
# have been added since it was last seen, and a sale may be opened again.
OFFERED_REMEMBERED_SECONDS = 60.0

# After these answers to a pass the gate begins to watch the item.
WATCHED_STATUSES = {201, 409, 410, 503}
# And after live figures, unless they are those of no item, whose ETag this is: anybody can ask for any id.
NO_FIGURES = live_etag(live_body(None, now_ms=0))
# The header of a repeated yes.
REPLAYED = ("Idempotent-Replayed", "true")
OUR_ETAG = re.compile(r'"[0-9a-f]{24}"')


@dataclass(slots=True)
class KnownSale:
    """The items of a sale, as a view has said them, by the process's clock."""

    item_ids: list[int]
    ask_again_s: float
    until_s: float


@dataclass(slots=True)
class Offered:
    """How many units an item had before its end, by the process's clock."""

    units: int
    until_s: float


class Gate:
    """Used from one event loop."""

    def __init__(
        self,
        *,
        views: ViewAnswers,
        snapshots: Snapshots | None = None,
        counts: AnswerCounts = answer_counts,
        rooms: Rooms | None = None,
    ) -> None:
        """The web server passes only `views`; tests pass the others too and drive them by hand."""
        self._views = views
        self._snapshots = snapshots or Snapshots()
        self._rooms = rooms or Rooms()
        self._counts = counts
        self._sales: dict[int, KnownSale] = {}
        self._offered: dict[int, Offered] = {}
        self._rendered: dict[tuple[object, ...], Rendered] = {}
        # The answers to questions for live figures, and until when.
        self._repeated: dict[Question, tuple[float, RawAnswer]] = {}

    def watch(self, item_ids: Sequence[int]) -> None:
        """Read these items before the first call for them."""
        for item_id in item_ids:
            self._snapshots.watch(item_id)

    def knows(self, item_ids: Sequence[int]) -> bool:
        """Whether there is a recent snapshot of each, or the store is known to be away."""
        return all(self._snapshots.find(item_id) is not None for item_id in item_ids)

    def at_once(self, question: Question) -> RawAnswer | None:
        """A place; or the figures that somebody else got a moment ago, for half of the work of `answer`."""
        if isinstance(place := question[3], PlaceToken):
            known = self._views.find(question[2])
            template = known.templates.get((Kind.PLACE, LIVE)) if known else None
            body = self._rooms.answer(place) if template else None
            return answer_of(template, body, {}) if template and body else None
        kept = self._repeated.get(question)
        if kept is None or self._snapshots.clock_s() >= kept[0]:
            return None
        if question[0] is Kind.SALE_LIVE:
            waiting_pages.count(question[1])
        return kept[1]

    def answer(self, call: OrdinaryCall) -> RawAnswer | None:
        """The answer, or None if the store or a view must be asked; then tell the gate by `learn` what they said."""
        known = self._views.find(call.context)
        if known is None:
            return None
        if call.pass_ is not None:
            return self._refuse(call.object_id, call.pass_, language=known.language, templates=known.templates)
        return self._live(call, templates=known.templates) if call.kind in LIVE_KINDS else None

    def must_ask(self, call: OrdinaryCall) -> bool:
        """Whether a view must be asked which items the sale of a call for SALE_LIVE has, though the gate has answered.

        True once in a while.
        """
        sale = self._sales.get(call.object_id)
        now_s = self._snapshots.clock_s() if sale else 0.0
        if sale is None or now_s < sale.ask_again_s:
            return False
        sale.ask_again_s = now_s + SALE_ASKED_SECONDS
        return True

    def _live(self, call: OrdinaryCall, *, templates: Mapping[tuple[Kind, str], HeaderTemplate]) -> RawAnswer | None:
        if call.kind is Kind.SALE_LIVE:
            waiting_pages.count(call.object_id)
        now_s = self._snapshots.clock_s()
        key = (call.kind, call.object_id)
        rendered = self._rendered.get(key)
        if rendered is None or now_s >= rendered.until_s:
            body = self._live_body(call, now_s=now_s)
            if body is None:
                return None
            rendered = self._keep(key, JSONRenderer().render(body), {"ETag": live_etag(body)}, now_s=now_s)
        # A proxy that compresses makes our ETag a weak one. For this header the two are the same.
        known = call.if_none_match.removeprefix("W/") if call.if_none_match is not None else None
        unchanged = known == rendered.values["ETag"]
        if known is not None and not unchanged and not OUR_ETAG.fullmatch(known):
            return None
        word = NOT_MODIFIED if unchanged else LIVE
        template = templates.get((call.kind, word))
        if template is None:
            return None
        answer = rendered.answer(template, empty=unchanged)
        if len(self._repeated) >= REPEATED_MAX:
            self._repeated.clear()
        self._repeated[call.kind, call.object_id, call.context, call.if_none_match] = rendered.until_s, answer
        return answer

    def _live_body(self, call: OrdinaryCall, *, now_s: float) -> dict[str, Any] | None:
        """The body that the view would give; None if the view might ask PostgreSQL for it."""
        if call.kind is Kind.ITEM_LIVE:
            item_ids = [call.object_id]
        else:
            sale = self._sales.get(call.object_id)
            if sale is None or now_s >= sale.until_s:
                return None
            item_ids = sale.item_ids
        items: list[tuple[int, Counters | None]] = []
        for item_id in item_ids:
            snapshot = self._snapshots.find(item_id, age_seconds_max=LIVE_AGE_SECONDS_MAX)
            if snapshot is None:
                # The last question is a while ago. Later calls need no view, which perhaps could not answer.
                self.watch(item_ids if call.kind is Kind.SALE_LIVE else ())
                return None
            if snapshot is not AWAY and snapshot.counters is None:
                return None
            counters = None if snapshot is AWAY else snapshot.counters_at(now_s)
            if counters is not None and counters.quantity is not None:
                offered = self._offered_in(item_id, counters, now_s=now_s, kind=call.kind)
                if offered is None:
                    return None
                counters = with_units_offered(counters, offered)
            items.append((item_id, counters))
        if call.kind is Kind.ITEM_LIVE:
            return live_body(items[0][1], now_ms=now_ms())
        opening_spread_ms = waiting_pages.opening_spread_ms(call.object_id)
        return sale_live_body(items, now_ms=now_ms(), opening_spread_ms=opening_spread_ms)

    def _offered_in(self, item_id: int, counters: Counters, *, now_s: float, kind: Kind) -> int | None:
        """How many units the item has, or had before its end; None if only PostgreSQL knows.

        For the figures of a whole sale any known number will do: they bring the view's every ten seconds (`must_ask`).
        """
        if counters.phase is not Phase.ENDED:
            self._remember_offered(item_id, counters.quantity, now_s=now_s)
            return counters.quantity
        known = self._offered.get(item_id)
        if known is not None and (now_s < known.until_s or kind is Kind.SALE_LIVE):
            return known.units
        return None if may_have_given_back(counters) else counters.quantity

    def _remember_offered(self, item_id: int, units: int | None, *, now_s: float) -> None:
        if len(self._offered) >= RENDERED_MAX:
            self._offered.clear()
        if units is not None:
            self._offered[item_id] = Offered(units, now_s + OFFERED_REMEMBERED_SECONDS)

    def _learn_offered(self, item_id: int, figures: dict[str, Any]) -> None:
        if figures["phase"] == Phase.ENDED and figures["left"] == 0:
            self._remember_offered(item_id, figures["quantity"], now_s=self._snapshots.clock_s())

    def _refuse(
        self, item_id: int, pass_: Pass, *, language: str, templates: Mapping[tuple[Kind, str], HeaderTemplate]
    ) -> RawAnswer | None:
        now_s = self._snapshots.clock_s()
        snapshot = self._snapshots.find(item_id)
        if snapshot is None:
            return None
        outcome = certain_refusal(snapshot, pass_=pass_, now_s=now_s)
        template = templates.get((Kind.RESERVATION, outcome)) if outcome else None
        if outcome is None or template is None:
            return None
        key = (item_id, outcome, language)
        rendered = self._rendered.get(key)
        if rendered is None or now_s >= rendered.until_s:
            with override(language):
                response = refusal(refused(snapshot, outcome, now_s=now_s))
            values = {"Retry-After": response["Retry-After"]} if "Retry-After" in response else {}
            rendered = self._keep(key, response.content, values, now_s=now_s)
        self._counts.add(item_id, outcome)
        return rendered.answer(template)

    def _keep(self, key: tuple[object, ...], body: bytes, values: dict[str, str], *, now_s: float) -> Rendered:
        if len(self._rendered) >= RENDERED_MAX:
            self._rendered.clear()
        rendered = Rendered(now_s + RENDERED_SECONDS, body, values)
        self._rendered[key] = rendered
        return rendered

    def learn(self, call: OrdinaryCall, answer: RawAnswer) -> float:
        """Learn from the answer to a call that the gate could not answer.

        Returns for how many seconds the answer must be held back: 0, but for a yes just after units came back, or the
        answer to a call that may have been one.
        """
        status, headers, body = answer
        if call.kind is Kind.SALE_LIVE:
            if status == 200 and UNREPEATABLE.isdisjoint(name for name, _value in headers):
                self._remember_sale(call.object_id, json.loads(body))
            elif status == 404:
                # Buyers may no longer see it.
                self._sales.pop(call.object_id, None)
            return 0.0
        if call.kind is Kind.ITEM_LIVE:
            if status == 200:
                self._learn_offered(call.object_id, json.loads(body))
            if status in (200, 304) and ("ETag", NO_FIGURES) not in headers:
                self._snapshots.watch(call.object_id)
            return 0.0
        if call.kind is Kind.PLACE:
            self._rooms.watch(call.object_id)
            return 0.0
        if call.kind in OF_SIGNED_IN or status not in WATCHED_STATUSES:
            return 0.0
        is_new_yes = status == 201 and REPLAYED not in headers
        is_unknown = status == 503 and call.kind is Kind.RESERVATION
        seconds = self._snapshots.hold_back_seconds(call.object_id) if is_new_yes or is_unknown else 0.0
        self._snapshots.watch(call.object_id)
        return seconds

    def _remember_sale(self, sale_id: int, body: dict[str, Any]) -> None:
        if len(self._sales) >= SALES_MAX:
            self._sales.clear()
        item_ids = [item["id"] for item in body["items"]]
        now_s = self._snapshots.clock_s()
        self._sales[sale_id] = KnownSale(item_ids, now_s + SALE_ASKED_SECONDS, now_s + SALE_REMEMBERED_SECONDS)
        self.watch(item_ids)
        for item in body["items"]:
            self._learn_offered(item["id"], item)


def certain_refusal(snapshot: Snapshot | Away, *, pass_: Pass, now_s: float) -> Outcome | None:
    """The refusal that the script would give, or None if the script must be asked."""
    # As `reservation.reserve` answers when the store does not.
    if isinstance(snapshot, Away) or snapshot.counters is None:
        return Outcome.UNAVAILABLE
    # The script first looks whether this pass already has a reservation.
    if snapshot.known is None or snapshot.known.has(pass_.reservation_id):
        return None
    return certain_outcome(snapshot.counters, clock=snapshot.clock, now_s=now_s)


def refused(snapshot: Snapshot | Away, outcome: Outcome, *, now_s: float) -> Reservation:
    """The script's whole answer with this refusal."""
    if isinstance(snapshot, Away):
        return Reservation(outcome, now_ms=now_ms())
    store_ms = snapshot.clock.earliest_ms(now_s)
    opens_ms = snapshot.counters.opens_ms if snapshot.counters else 0
    return Reservation(outcome, now_ms=store_ms, retry_ms=max(opens_ms - store_ms, 0))


def certain_outcome(counters: Counters, *, clock: Clock, now_s: float) -> Outcome | None:
    """The refusal that any new reservation of the item gets now. The checks are in the order of the script.

    None also around the opening and the end, where the store's clock is not known to the millisecond.
    """
    if counters.state == "paused":
        return Outcome.PAUSED
    if clock.latest_ms(now_s) < counters.opens_ms:
        return Outcome.NOT_OPEN
    if clock.earliest_ms(now_s) < counters.opens_ms:
        return None
    if clock.earliest_ms(now_s) >= counters.closes_ms:
        return Outcome.CLOSED
    if clock.latest_ms(now_s) >= counters.closes_ms:
        return None
    if counters.left is None or counters.left > 0:
        return None
    return Outcome.HELD_BY_OTHERS if counters.held > 0 else Outcome.SOLD_OUT
