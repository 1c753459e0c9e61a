"""One client's calls over HTTP, each written down before it is sent and when its answer came, or did not."""

import http.client
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from bench.faults.history import UNKNOWN, History, Kind
from bench.faults.trial_sale import Ticket

# The shop gives up on a store within 2 s; whoever waited this long was dropped on the way.
CALL_SECONDS_MAX = 10.0

# Words of the harness's own: the payment company took the money; its page takes none any more.
CHARGED, PAGE_OVER = "charged", "page_over"


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


@dataclass(frozen=True, slots=True)
class Reply:
    """What came over the wire; status 0 where nothing did. Names of headers are in lower case."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    text: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Calls for one buyer. `ports` are the web processes, the favourite first; another `turn` asks another of them."""

    trial: str
    client: str
    ticket: Ticket
    ports: Sequence[int]
    history: History

    def reserve(self, *, item_id: int, units: int, turn: int = 0) -> Answer:
        """Ask for units with the pass."""
        return self._call(
            Kind.RESERVE,
            "POST",
            f"/api/v1/sale-items/{item_id}/reservations/",
            turn=turn,
            body={"units": units},
            headers={"Authorization": f"Pass {self.ticket.pass_text}"},
        )

    def look(self, *, turn: int = 0) -> Answer:
        """What became of the reservation? The body has the number of the order."""
        path = f"/api/v1/reservations/{self.ticket.reservation_id}/"
        return self._call(Kind.LOOK, "GET", path, turn=turn, headers=self._bearer)

    def open_page(self, *, number: str, turn: int = 0) -> Answer:
        """Ask for the page where the order is paid; the body has its `url`. The same key for every try."""
        headers = {**self._bearer, "Idempotency-Key": f"pay-{self.ticket.reservation_id}"}
        return self._call(Kind.OPEN_PAGE, "POST", f"/api/v1/orders/{number}/pay/", turn=turn, body={}, headers=headers)

    def cancel(self, *, number: str, turn: int = 0) -> Answer:
        headers = {**self._bearer, "Idempotency-Key": f"cancel-{self.ticket.reservation_id}"}
        return self._call(Kind.CANCEL, "POST", f"/api/v1/orders/{number}/cancel/", turn=turn, headers=headers)

    def press_pay(self, *, url: str, delivery: str, turn: int = 0) -> Answer:
        """Press the button on the payment company's page: CHARGED, PAGE_OVER or UNKNOWN."""
        call = self.noted(Kind.PAY)
        answer = press(self.ports[turn % len(self.ports)], path=urlsplit(url).path, delivery=delivery)
        self.note_answer(call, Kind.PAY, answer)
        return answer

    @property
    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.ticket.token}"}

    def _call(
        self,
        kind: Kind,
        method: str,
        path: str,
        *,
        turn: int,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
    ) -> Answer:
        call = self.noted(kind, units=int((body or {}).get("units", 0)))
        port = self.ports[turn % len(self.ports)]
        answer = answer_from(request(port, method, path, headers=headers, **as_json(body)))
        self.note_answer(call, kind, answer)
        return answer

    def noted(self, kind: Kind, *, units: int = 0) -> int:
        """Write an intent down. Returns the number of the call."""
        return self.history.intent(units=units, kind=kind, **self._names())

    def note_answer(self, call: int, kind: Kind, answer: Answer) -> None:
        is_yes = kind is Kind.RESERVE and answer.status == 201
        self.history.answer(
            call=call,
            kind=kind,
            word=answer.word,
            status=answer.status,
            units=int(answer.body.get("units") or 0) if is_yes else 0,
            told_id=str(answer.body.get("id") or "") if is_yes else "",
            **self._names(),
        )

    def _names(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "client": self.client,
            "reservation_id": self.ticket.reservation_id,
            "buyer_id": self.ticket.buyer_id,
        }


def press(port: int, *, path: str, delivery: str) -> Answer:
    """Fetch the page for its cookie against forged requests, then press the button as a browser does."""
    page = request(port, "GET", path)
    if page.status != 200:
        return Answer(
            word=UNKNOWN if not page.status or page.status >= 500 else f"http_{page.status}", status=page.status
        )
    cookie = page.headers.get("set-cookie", "").partition(";")[0]
    form = urlencode({"action": "pay", "delivery": delivery, "csrfmiddlewaretoken": cookie.partition("=")[2]})
    pressed = request(
        port,
        "POST",
        path,
        headers={"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"},
        data=form.encode(),
    )
    if pressed.status != 302:
        return Answer(
            word=UNKNOWN if not pressed.status or pressed.status >= 500 else f"http_{pressed.status}",
            status=pressed.status,
        )
    over = urlsplit(pressed.headers.get("location", "")).path == path
    return Answer(word=PAGE_OVER if over else CHARGED, status=302)


def as_json(body: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if body is None else {"data": json.dumps(body).encode(), "content_type": "application/json"}


def request(
    port: int,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    data: bytes | None = None,
    content_type: str = "",
) -> Reply:
    """One request on a connection of its own. http.client on purpose: it reads no proxy and follows no redirect."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=CALL_SECONDS_MAX)
    more = {"Host": "127.0.0.1", "Accept": "application/json, text/html", **(headers or {})}
    if content_type:
        more["Content-Type"] = content_type
    try:
        with closing(connection):
            connection.request(method, path, body=data, headers=more)
            response = connection.getresponse()
            text = response.read()
            return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, text)
    except (OSError, http.client.HTTPException):
        return Reply()


def answer_from(reply: Reply) -> Answer:
    """The document of the API as an answer."""
    if not reply.status:
        return Answer(word=UNKNOWN)
    try:
        body = json.loads(reply.text)
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    return Answer(word=word_of(reply, body), status=reply.status, body=body)


def word_of(reply: Reply, body: Mapping[str, Any]) -> str:
    if "code" in body:
        return str(body["code"])
    if reply.status == 201:
        return "already_reserved" if "idempotent-replayed" in reply.headers else "reserved"
    return "ok" if reply.status < 400 else f"http_{reply.status}"
