"""People of a waiting room, each a thread that goes on until it has a unit, and what they were told."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.faults.wire.http_client import Answer, answer_from, as_json, request
from seckill.models import SaleItem

POLL_SECONDS = 0.3


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
        answer = answer_from(request(port, "POST", path, headers={"Authorization": authorization}, **as_json(body)))
        if answer.status >= 400:
            self.refusals.add(answer.outcome)
        return answer
