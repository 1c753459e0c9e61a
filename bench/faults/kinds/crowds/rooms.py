"""A waiting room while its line moves: places stay, people are let in by their order and once, and the line goes on."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Count, Sum

from bench import load_buyers
from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault, Part, TrialContext
from bench.faults.kinds.clocks import HOUR_SECONDS, ClockOff
from bench.faults.kinds.processes import ProcessKilled
from bench.faults.kinds.replicas.primaries import SentinelPrimaryKilled
from bench.faults.kinds.replicas.replicated_fault import SENTINEL_PROMISE
from bench.faults.trial_sale import tokens_of
from bench.faults.wire.http_client import Answer, answer_from, as_json, request
from bench.load_sale import open_load_sale, retire
from orders.models import OrderLine
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import Sale, SaleItem
from seckill.store.client import StoreUnreachable, ask
from seckill.store.keys import room_id, room_keys_of
from seckill.waiting_room.room_ledger import read_room

# Far above the buyers of a trial.
PEOPLE_FIRST, PEOPLE = 7_000, 40
UNITS = 24
# Three people a second, so the line moves for eight seconds.
PACE = 180
OPENS_IN_SECONDS = 5.0
# Longer than the clock of a web process is off.
OPEN_SECONDS = 3 * 3_600
# Long enough that no unit comes back before the trial ends.
HOLD_SECONDS = 600
CALLED_MIN = 3
MOVES_SECONDS_MAX = 60.0
# A web process tells places from a snapshot that is no older.
SNAPSHOT_SECONDS = 2.0
POLL_SECONDS = 0.3


class WithRoom(Fault):
    """A second sale with a waiting room, beside the trial's own. All come before its opening, and each wants a unit."""

    demand = Demand(buyers=20, arrival_seconds=2.0)
    disturbs = frozenset({Part.STORE})
    # People join and are called, and their sale is made in the middle of the trial.
    needs = frozenset({Part.WEB, Part.WORKER, Part.BEAT, Part.BROKER, Part.STORE, Part.POSTGRES})

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._stop = threading.Event()
        self._called_before = 0

    def fill_room(self) -> None:
        """Let people join, and wait until the line moves."""
        self._item = open_load_sale(
            name=self.name,
            quantity=UNITS,
            per_buyer_max=1,
            open_seconds=OPEN_SECONDS,
            hold_seconds=HOLD_SECONDS,
            opens_in_seconds=OPENS_IN_SECONDS,
            admission=Sale.Admission.WAITING_ROOM,
        )
        Sale.objects.filter(pk=self._item.sale_id).update(pace=PACE)
        account_ids = load_buyers.load_buyer_ids(count=PEOPLE, first=PEOPLE_FIRST)
        self._people = [
            Person(account_id, token, self.context.ports, self._item)
            for account_id, token in zip(account_ids, tokens_of(account_ids), strict=True)
        ]
        for person in self._people:
            threading.Thread(target=person.go_on, args=(self._stop,), daemon=True).start()
        self.shop.wait_until(lambda: self._called() >= CALLED_MIN, seconds_max=MOVES_SECONDS_MAX)
        self._called_before = self._called()
        # The line moves, and has not come to its end.
        self.happened = CALLED_MIN <= self._called_before < UNITS

    def violations(self) -> Sequence[str]:
        self.shop.wait_until(lambda: self._winners() == UNITS, seconds_max=MOVES_SECONDS_MAX)
        self._stop.set()
        self.shop.wait_until(self._is_written, seconds_max=MOVES_SECONDS_MAX)
        calls = f"{self._called_before} of {PEOPLE} called before, {self._called()} after"
        self.variant = ", ".join(filter(None, (self.variant, calls)))
        found = [*self._wrong_places(), *self._wrongly_let_in(), *self._wrong_units()]
        retire(self._item)
        return found

    def _called(self) -> int:
        with suppress(StoreUnreachable):
            room = read_room(sale_id=self._item.sale_id)
            return room.called if room is not None else 0
        return 0

    def _winners(self) -> int:
        return sum(bool(person.reservation_id) for person in self._people)

    def _is_written(self) -> bool:
        connection.close()
        return OrderLine.objects.filter(sale_item=self._item).count() == UNITS

    def _wrong_places(self) -> list[str]:
        """Each has one arrival and one place for good, and together they are a permutation."""
        wrong = [
            f"account {person.account_id} was told {sorted(person.places)}"
            for person in self._people
            if len(person.places) != 1 or len({arrival for arrival, _place in person.told}) != 1
        ]
        places = sorted(place for person in self._people for place in person.places)
        if not wrong and places != list(range(1, PEOPLE + 1)):
            wrong.append(f"the places are {places}")
        states = set().union(*(person.states for person in self._people)) - {"before_opening", "waiting", "called"}
        return [*wrong, *(f"somebody who was there was told {state}" for state in states)]

    def _wrongly_let_in(self) -> list[str]:
        """By the order of places, and nobody is counted twice."""
        placed = {min(person.places): person for person in self._people if person.places}
        wrong = [
            f"place {later} was let in before place {earlier} was called"
            for later, let_in in placed.items()
            for earlier, waiting in placed.items()
            if earlier < later and 0 < let_in.let_in_s < waiting.waited_s - SNAPSHOT_SECONDS
        ]
        room, keys = read_room(sale_id=self._item.sale_id), room_keys_of(self._item.sale_id)
        entries: Any = ask(lambda client: client.hgetall(keys.arrivals), item_id=room_id(self._item.sale_id))
        entered = sum(entry.endswith(b"*") for entry in entries.values())
        if room is None or room.entered != entered or len(entries) != PEOPLE:
            wrong.append(f"{entered} of {len(entries)} accounts have entered, but the room says {room}")
        return wrong

    def _wrong_units(self) -> list[str]:
        """Everybody who was told yes has an order, and nobody has two."""
        lines = OrderLine.objects.filter(sale_item=self._item)
        sums = lines.aggregate(units=Sum("units", default=0), buyers=Count("order__buyer", distinct=True))
        told = {person.reservation_id for person in self._people if person.reservation_id}
        kept = {str(one) for one in lines.values_list("order__reservation_id", flat=True)}
        wrong = [f"{len(told - kept)} people who were told yes have no order"] if told - kept else []
        counters = ledger.read(item_id=self._item.pk)
        held = counters is not None and (counters.left, counters.held) == (0, UNITS)
        if sums != {"units": UNITS, "buyers": UNITS} or not held:
            wrong.append(f"of {UNITS} units the orders have {sums}, and the store {counters}")
        problems = audit(item_id=self._item.pk).comparison.problem_count
        return [*wrong, *([f"the stores differ in {problems} places"] if problems else [])]


class StoreKilledWhileRoomMoves(WithRoom, ProcessKilled):
    name = "store-killed-in-room"
    description = "kill -9 of the store, three times, while the line of a waiting room moves"
    target = "store"
    kills = 3
    pause_seconds = (0.5, 2.0)

    def inject(self) -> None:
        self.fill_room()
        super().inject()


class FailoverWhileRoomMoves(WithRoom, SentinelPrimaryKilled):
    name = "sentinel-failover-in-room"
    description = "kill -9 of the primary with people in line: the sentinels promote its replica"
    shop_kind = SENTINEL_PROMISE
    # Pairs are of the usual shop.
    disturbs = frozenset()

    def inject(self) -> None:
        self.fill_room()
        SentinelPrimaryKilled.inject(self)


class WebClockOffInRoom(WithRoom, ClockOff):
    name = "clock-web-off-in-room"
    description = "the clock of one web process is an hour ahead or behind while people join and the line moves"
    processes = ("web2",)
    disturbs = frozenset({Part.WEB})

    def inject(self) -> None:
        self.seconds = self.rng.choice((HOUR_SECONDS, -HOUR_SECONDS))
        self.variant = f"{self.seconds:+.0f} s"
        ClockOff.inject(self)
        self.fill_room()

    def took_effect(self) -> bool:
        """That process refuses passes: an hour ahead those of the other one, an hour behind to give any."""
        refusals = set().union(*(person.refusals for person in self._people))
        return super().took_effect() and ("pass_expired" if self.seconds > 0 else "too_early") in refusals


@dataclass(slots=True)
class Person:
    """One account: joins, asks for its place until it is called, gets a pass, and reserves a unit."""

    account_id: int
    token: str
    ports: Sequence[int]
    item: SaleItem
    place_token: str = ""
    pass_text: str = ""
    # What was told: arrivals and places, and when a question was sent that was answered with `waiting`.
    told: set[tuple[int, int | None]] = field(default_factory=set)
    states: set[str] = field(default_factory=set)
    refusals: set[str] = field(default_factory=set)
    waited_s: float = 0.0
    let_in_s: float = 0.0
    reservation_id: str = ""

    def go_on(self, stop: threading.Event) -> None:
        attempt = self.account_id
        while not self.reservation_id and not stop.wait(POLL_SECONDS):
            attempt += 1
            self._step(self.ports[attempt % len(self.ports)])

    @property
    def places(self) -> set[int]:
        return {place for _arrival, place in self.told if place is not None}

    def _step(self, port: int) -> None:
        if not self.place_token or "called" not in self.states:
            self._ask_place(port)
        elif not self.pass_text:
            answer = self._post(port, f"/api/v1/sale-items/{self.item.pk}/passes/", {}, f"Bearer {self.token}")
            if answer.status == 201:
                self.pass_text, self.let_in_s = answer.body["pass"], self.let_in_s or time.monotonic()
        else:
            path = f"/api/v1/sale-items/{self.item.pk}/reservations/"
            answer = self._post(port, path, {"units": 1}, f"Pass {self.pass_text}")
            if answer.status == 201:
                self.reservation_id = str(answer.body["id"])
            elif answer.status == 401:
                # A web process with another clock takes it for an old one.
                self.pass_text = ""

    def _ask_place(self, port: int) -> None:
        path, sent_s = f"/api/v1/sales/{self.item.sale_id}/queue/", time.monotonic()
        if self.place_token:
            answer = answer_from(request(port, "GET", path, headers={"Authorization": f"Place {self.place_token}"}))
        if not self.place_token or answer.status == 401:
            body = {"place_token": self.place_token} if self.place_token else {}
            answer = self._post(port, path, body, f"Bearer {self.token}")
        if answer.status not in (200, 201):
            return
        told = answer.body
        self.place_token = str(told.get("place_token") or self.place_token)
        self.told.add((told["arrival"], told["place"]))
        self.states.add(told["state"])
        if told["state"] == "waiting":
            self.waited_s = sent_s

    def _post(self, port: int, path: str, body: Mapping[str, Any], authorization: str) -> Answer:
        headers = {"Authorization": authorization}
        answer = answer_from(request(port, "POST", path, headers=headers, data=as_json(body)))
        if answer.status >= 400:
            self.refusals.add(answer.outcome)
        return answer
