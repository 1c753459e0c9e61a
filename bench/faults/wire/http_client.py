"""One buyer's calls over HTTP. Each is written to the history before it is sent and when its answer came."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from bench import http_requests
from bench.faults.history import UNKNOWN, Action, History
from bench.faults.trial_sale import Credentials
from bench.http_requests import Reply
from orders.models import OrderStatus

# Outcomes that are not the shop's: the payment company took the money; its page does not take any more.
CHARGED, PAGE_CLOSED = "charged", "page_closed"
# How a yes is called, and one that is repeated.
HOLD_WORDS, ORDER_WORDS = ("reserved", "already_reserved"), ("ordered", "already_ordered")
# What a receipt did: the reservation is back; or it was not lost, and lives or has ended.
BROUGHT_BACK, NOT_LOST, ENDED = "brought_back", "not_lost", "ended"


@dataclass(frozen=True, slots=True)
class Answer:
    """`outcome` is the outcome or problem code, `ok` for a success without one, UNKNOWN if no answer came."""

    outcome: str
    status: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_unknown(self) -> bool:
        """Whether the call may or may not have taken effect: no answer, or a 5xx."""
        return self.status == 0 or self.status >= 500


@dataclass(frozen=True, slots=True, kw_only=True)
class BuyerClient:
    """Calls for one buyer. `ports` are the web processes, the preferred one first; each `attempt` uses the next one."""

    trial: str
    name: str
    credentials: Credentials
    ports: Sequence[int]
    history: History
    tls: bool = False
    # A buyer who does not keep receipts has none to bring back.
    keeps_receipts: bool = True
    # The last one that came with a yes, or none.
    receipts: list[str] = field(default_factory=list)

    def reserve(self, *, item_id: int, units: int, attempt: int = 0) -> Answer:
        """Ask for units with the pass. A yes brings a receipt."""
        answer = self._call(
            Action.RESERVE,
            "POST",
            f"/api/v1/sale-items/{item_id}/reservations/",
            attempt=attempt,
            body={"units": units},
            headers={"Authorization": f"Pass {self.credentials.pass_text}"},
            units=units,
        )
        if answer.status == 201 and self.keeps_receipts:
            self.receipts[:] = [str(answer.body["receipt"])]
        return answer

    def join(self, *, item_id: int, units: int, attempt: int = 0) -> Answer:
        """Ask for a place in the waiting list with the pass."""
        path, headers = (
            f"/api/v1/sale-items/{item_id}/waiting-list/",
            {"Authorization": f"Pass {self.credentials.pass_text}"},
        )
        return self._call(Action.JOIN, "POST", path, attempt=attempt, body={"units": units}, headers=headers)

    def get_reservation(self, *, attempt: int = 0) -> Answer:
        """The state of the reservation; the body has the number of the order."""
        path = f"/api/v1/reservations/{self.credentials.reservation_id}/"
        return self._call(Action.GET_RESERVATION, "GET", path, attempt=attempt, headers=self._bearer)

    def bring_receipt(self, *, attempt: int = 0) -> Answer:
        """Bring the receipt, whether or not the reservation is lost."""
        body = {"receipt": self.receipts[0]}
        return self._call(
            Action.BRING_RECEIPT, "POST", "/api/v1/receipts/", attempt=attempt, body=body, headers=self._bearer
        )

    def open_page(self, *, number: str, attempt: int = 0) -> Answer:
        """Ask for the page where the order is paid; the body has its `url`. The same key for every attempt."""
        headers = {**self._bearer, "Idempotency-Key": f"pay-{self.credentials.reservation_id}"}
        return self._call(
            Action.OPEN_PAGE, "POST", f"/api/v1/orders/{number}/pay/", attempt=attempt, body={}, headers=headers
        )

    def cancel(self, *, number: str, attempt: int = 0) -> Answer:
        headers = {**self._bearer, "Idempotency-Key": f"cancel-{self.credentials.reservation_id}"}
        return self._call(Action.CANCEL, "POST", f"/api/v1/orders/{number}/cancel/", attempt=attempt, headers=headers)

    def press_pay(self, *, url: str, delivery: str, attempt: int = 0) -> Answer:
        """Press the button on the payment company's page: CHARGED, PAGE_CLOSED or UNKNOWN."""
        call = self.record_request(Action.PAY)
        answer = press(self.ports[attempt % len(self.ports)], path=urlsplit(url).path, delivery=delivery, tls=self.tls)
        self.record_answer(call, Action.PAY, answer)
        return answer

    @property
    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.credentials.token}"}

    def _call(
        self,
        action: Action,
        method: str,
        path: str,
        *,
        attempt: int,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        units: int = 0,
    ) -> Answer:
        call = self.record_request(action, units=units)
        port = self.ports[attempt % len(self.ports)]
        reply = request(port, method, path, headers=headers, data=as_json(body), tls=self.tls)
        answer = answer_from(reply, yes_words=ORDER_WORDS if action is Action.CHECK_OUT else HOLD_WORDS)
        if action is Action.BRING_RECEIPT and answer.status in (200, 201):
            answer = replace(answer, outcome=outcome_of_receipt(answer))
        self.record_answer(call, action, answer)
        return answer

    def record_request(self, action: Action, *, units: int = 0) -> int:
        """Add the request to the history. Returns the number of the call."""
        return self.history.add_request(units=units, action=action, **self._names())

    def record_answer(self, call: int, action: Action, answer: Answer) -> None:
        granted, id_in_answer = granted_by(action, answer) if answer.status == 201 else (0, "")
        self.history.add_answer(
            call=call,
            action=action,
            outcome=answer.outcome,
            status=answer.status,
            units=granted,
            id_in_answer=id_in_answer,
            **self._names(),
        )

    def _names(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "client": self.name,
            "reservation_id": self.credentials.reservation_id,
            "buyer_id": self.credentials.buyer_id,
        }


def outcome_of_receipt(answer: Answer) -> str:
    if answer.status == 201:
        return BROUGHT_BACK
    return ENDED if answer.body.get("status") == OrderStatus.REJECTED else NOT_LOST


def granted_by(action: Action, answer: Answer) -> tuple[int, str]:
    """The units that a yes grants, and the id that it names: of the reservation, or the number of the order."""
    if action is Action.RESERVE:
        return int(answer.body.get("units") or 0), str(answer.body.get("id") or "")
    if action is Action.CHECK_OUT:
        lines = answer.body.get("lines") or []
        return sum(int(line["units"]) for line in lines), str(answer.body.get("number") or "")
    return 0, ""


def press(port: int, *, path: str, delivery: str, tls: bool = False) -> Answer:
    """Get the page for its CSRF cookie, then press the button as a browser does."""
    page = request(port, "GET", path, tls=tls)
    if page.status != 200:
        return answer_of_company(page)
    cookie = page.headers.get("set-cookie", "").partition(";")[0]
    if not cookie:
        # It was closed meanwhile, and has no form any more.
        return Answer(outcome=PAGE_CLOSED, status=200)
    form = urlencode({"action": "pay", "delivery": delivery, "csrfmiddlewaretoken": cookie.partition("=")[2]})
    pressed = request(
        port,
        "POST",
        path,
        headers={"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"},
        data=form.encode(),
        tls=tls,
    )
    if pressed.status != 302:
        return answer_of_company(pressed)
    over = urlsplit(pressed.headers.get("location", "")).path == path
    return Answer(outcome=PAGE_CLOSED if over else CHARGED, status=302)


def answer_of_company(reply: Reply) -> Answer:
    """An answer that its page should not give."""
    is_unknown = not reply.status or reply.status >= 500
    return Answer(outcome=UNKNOWN if is_unknown else f"http_{reply.status}", status=reply.status)


def as_json(body: Mapping[str, Any] | None) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def request(
    port: int,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    data: bytes | None = None,
    tls: bool = False,
) -> Reply:
    """One request, through a proxy or without one."""
    more = {"Host": "127.0.0.1", "Accept": "application/json, text/html", **(headers or {})}
    return http_requests.request(port, method, path, headers=more, data=data, tls=tls)


def answer_from(reply: Reply, *, yes_words: tuple[str, str] = HOLD_WORDS) -> Answer:
    """The API's reply as an answer."""
    if not reply.status:
        return Answer(outcome=UNKNOWN)
    body = reply.json_object
    return Answer(outcome=outcome_of(reply, body, yes_words=yes_words), status=reply.status, body=body)


def outcome_of(reply: Reply, body: Mapping[str, Any], *, yes_words: tuple[str, str]) -> str:
    # An order has a `code` too, its short number.
    if reply.status >= 400 and "code" in body:
        return str(body["code"])
    if reply.status == 201:
        return yes_words["idempotent-replayed" in reply.headers]
    return "ok" if reply.status < 400 else f"http_{reply.status}"
