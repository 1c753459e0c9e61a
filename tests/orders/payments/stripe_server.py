"""A local server that answers as Stripe documents it, and records the calls. It is not Stripe: see test_stripe.py."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs


@dataclass
class Asked:
    method: str
    path: str
    form: dict[str, str]
    idempotency_key: str
    is_replayed: bool = False


@dataclass
class StripeServer:
    """`faults` are the answers to the next calls: (status, error type, code), or None for success.

    A 500 is kept under the call's idempotency key, as Stripe does for a day, and marked when it is repeated.
    `lost_answers` is how many of the next calls are carried out and answered by an error of the network between.
    """

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    faults: list[tuple[int, str, str] | None] = field(default_factory=list)
    session_status: str = "open"
    payment_status: str = "unpaid"
    refund_status: str = "succeeded"
    lost_answers: int = 0
    still_has: int = 1900
    refunds: list[dict[str, Any]] = field(default_factory=list)
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    forms: dict[str, dict[str, str]] = field(default_factory=dict)
    failures: dict[str, tuple[int, str, str]] = field(default_factory=dict)

    def answer(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        self.asked.append(asked)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None and asked.idempotency_key in self.failures:
            asked.is_replayed, fault = True, self.failures[asked.idempotency_key]
        if fault:
            if fault[0] == 500 and asked.idempotency_key:
                self.failures[asked.idempotency_key] = fault
            return error(*fault)
        parts = asked.path.strip("/").split("/")
        if asked.path == "/v1/checkout/sessions" and asked.method == "GET":
            data = list(self.sessions.values()) if asked.form.get("payment_intent") == "pi_1" else []
            return 200, {"object": "list", "url": asked.path, "has_more": False, "data": data}
        if asked.path == "/v1/checkout/sessions":
            return self.opened(asked)
        if parts[:3] == ["v1", "checkout", "sessions"] and parts[-1] == "expire":
            if self.session_status != "open":
                return error(400, "invalid_request_error")
            self.session_status = "expired"
            return 200, self.stored(parts[3])
        if parts[:3] == ["v1", "checkout", "sessions"]:
            return 200, self.stored(parts[3])
        if asked.path == "/v1/refunds" and asked.method == "GET":
            return 200, {"object": "list", "url": "/v1/refunds", "has_more": False, "data": self.refunds}
        if asked.path == "/v1/refunds":
            return self.refunded(asked)
        return error(404, "invalid_request_error")

    def opened(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        """Stripe refuses a name that is too long, a key that had other parameters before, and a page that ends soon."""
        if any("[name]" in field and len(value) > 250 for field, value in asked.form.items()):
            return error(400, "invalid_request_error")
        if asked.form != self.forms.setdefault(asked.idempotency_key, asked.form):
            return error(400, "idempotency_error")
        if asked.idempotency_key not in self.sessions and int(asked.form["expires_at"]) < time.time() + 30 * 60:
            return error(400, "invalid_request_error")
        return self.done(self.session(asked))

    def refunded(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        """A refund of the amount asked for, or of all that is left."""
        if int(asked.form.get("amount", 0)) > self.still_has:
            return error(400, "invalid_request_error")
        refund = {
            "id": f"re_{len(self.refunds) + 1}",
            "object": "refund",
            "status": self.refund_status,
            "failure_reason": None,
            "amount": int(asked.form.get("amount", self.still_has)),
            "currency": "cny",
            "metadata": metadata_in(asked),
        }
        self.refunds.append(refund)
        return self.done(refund)

    def done(self, made: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The answer to a call that was carried out, unless it is lost."""
        if self.lost_answers:
            self.lost_answers -= 1
            return error(502, "api_error")
        return 200, made

    def session(self, asked: Asked) -> dict[str, Any]:
        """The same session for the same idempotency key."""
        reference = f"cs_test_{len(self.sessions) + 1}"
        made = {
            "id": reference,
            "object": "checkout.session",
            "url": f"https://pay.example/{reference}",
            "metadata": metadata_in(asked),
        }
        return self.sessions.setdefault(asked.idempotency_key, made)

    def stored(self, reference: str) -> dict[str, Any]:
        intent = "pi_1" if self.session_status == "complete" else None
        return {
            "id": reference,
            "object": "checkout.session",
            "status": self.session_status,
            "payment_status": self.payment_status,
            "payment_intent": intent,
        }


def error(status: int, type_: str, code: str = "") -> tuple[int, dict[str, Any]]:
    return status, {"error": {"type": type_, "code": code, "message": f"{type_} {code}"}}


def metadata_in(asked: Asked) -> dict[str, str]:
    return {name[9:-1]: value for name, value in asked.form.items() if name.startswith("metadata[")}


@contextmanager
def stripe_server() -> Iterator[StripeServer]:
    stripe = StripeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            path, _, query = self.path.partition("?")
            sent = parse_qs(query) | parse_qs(self.rfile.read(length).decode())
            form = {name: values[0] for name, values in sent.items()}
            key = self.headers.get("Idempotency-Key", "")
            asked = Asked(self.command, path, form, key)
            status, body = stripe.answer(asked)
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            if asked.is_replayed:
                self.send_header("Idempotent-Replayed", "true")
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """No log: the tests read the recorded calls."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stripe.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stripe
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
