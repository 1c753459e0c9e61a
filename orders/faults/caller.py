"""One client's calls over HTTP, each written down before it is sent and when its answer came, or did not."""

import http.client
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from orders.faults.history import UNKNOWN, History, Kind
from orders.faults.scene import Ticket

# The shop gives up on a store within 2 s; whoever waited this long was dropped on the way.
CALL_SECONDS_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """`word` is the outcome or problem code, `ok` for a success without one, UNKNOWN where no answer came."""

    word: str
    status: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_unknown(self) -> bool:
        """Whether nobody can tell if the call took effect: no answer, or one that says as much."""
        return self.status == 0 or self.status >= 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Calls for one buyer. `ports` are the web processes, the favourite first."""

    trial: str
    client: str
    ticket: Ticket
    ports: Sequence[int]
    history: History

    def reserve(self, *, item_id: int, units: int, turn: int = 0) -> Answer:
        """Ask for units with the pass. Another `turn` asks another web process."""
        return self._call(
            Kind.RESERVE,
            "POST",
            f"/api/v1/sale-items/{item_id}/reservations/",
            turn=turn,
            authorization=f"Pass {self.ticket.pass_text}",
            body={"units": units},
        )

    def look(self, *, turn: int = 0) -> Answer:
        """What became of the reservation?"""
        return self._call(
            Kind.LOOK,
            "GET",
            f"/api/v1/reservations/{self.ticket.reservation_id}/",
            turn=turn,
            authorization=self._bearer,
        )

    @property
    def _bearer(self) -> str:
        return f"Bearer {self.ticket.token}"

    def noted(self, kind: Kind, *, units: int = 0) -> int:
        """Write an intent down. Returns the number of the call."""
        return self.history.intent(units=units, kind=kind, **self._names())

    def note_answer(self, call: int, kind: Kind, answer: Answer) -> None:
        self.history.answer(
            call=call,
            kind=kind,
            word=answer.word,
            status=answer.status,
            units=int(answer.body.get("units") or 0),
            told_id=str(answer.body.get("id") or ""),
            **self._names(),
        )

    def _names(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "client": self.client,
            "reservation_id": self.ticket.reservation_id,
            "buyer_id": self.ticket.buyer_id,
        }

    def _call(
        self,
        kind: Kind,
        method: str,
        path: str,
        *,
        turn: int,
        authorization: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        call = self.noted(kind, units=int((body or {}).get("units", 0)))
        port = self.ports[turn % len(self.ports)]
        answer = request(port, method, path, body=body, headers={"Authorization": authorization, **(headers or {})})
        self.note_answer(call, kind, answer)
        return answer


def request(port: int, method: str, path: str, *, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Answer:
    """One request on a connection of its own. http.client on purpose: it reads no proxy and follows no redirect."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=CALL_SECONDS_MAX)
    more = {"Host": "127.0.0.1", "Accept": "application/json", **headers}
    data = None if body is None else json.dumps(body)
    if data is not None:
        more["Content-Type"] = "application/json"
    try:
        with closing(connection):
            connection.request(method, path, body=data, headers=more)
            response = connection.getresponse()
            status, text = response.status, response.read()
            replayed = response.getheader("Idempotent-Replayed") is not None
    except (OSError, http.client.HTTPException):
        return Answer(word=UNKNOWN)
    try:
        reply = json.loads(text)
    except ValueError:
        reply = {}
    if not isinstance(reply, dict):
        reply = {}
    return Answer(word=word_of(status, reply, replayed=replayed), status=status, body=reply)


def word_of(status: int, reply: Mapping[str, Any], *, replayed: bool) -> str:
    if "code" in reply:
        return str(reply["code"])
    if status == 201:
        return "already_reserved" if replayed else "reserved"
    return "ok" if status < 400 else f"http_{status}"
