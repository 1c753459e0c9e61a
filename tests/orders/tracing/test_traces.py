"""A purchase seen from outside: its spans at a collector, its errors at a server for error reports."""

import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from orders.life import intake
from orders.mails import sending
from orders.models import Order
from seckill.models import SaleItem
from seckill.passes.passes import new_reservation_id
from shop.tracing.spans import span_recorder, trace_id_of
from shop.tracing.steps import steps
from tests.processes import wait_until
from tests.steps.buying import reserve_by_api
from tests.steps.cast import PassFor
from tests.steps.paying import message, payment_of, send_webhook

pytestmark = pytest.mark.django_db(transaction=True)

# In a process of its own, since both libraries are set up once for a process.
PROGRAM = """
import os
import django
django.setup()
from uuid import UUID
from django.conf import settings
from django.test import Client, RequestFactory
from django.urls import path
from shop.tracing.steps import steps
steps.note(UUID(int=7), "reserve", began=None)
# All middleware of the shop, and one address of its own: importing the others takes a second.
settings.ROOT_URLCONF = "__main__"
urlpatterns = [path("broken/<link>", lambda request, link: 1 / 0)]
from shop.wsgi import application
# Not in this text, since a report has some lines of the program.
person = os.environ["PERSON"]
client = Client(raise_request_exception=False, headers={"host": "localhost"})
client.post("/broken/" + person, {"name": person}, headers={"authorization": person, "cookie": person})
# As a web server calls it: only then a report would have the address, which may be a guest's secret link.
environ = RequestFactory()._base_environ(PATH_INFO="/broken/" + person, QUERY_STRING="q=" + person)
application({**environ, "HTTP_HOST": "localhost"}, lambda status, headers: print(dict(headers)["X-Request-ID"]))
"""


class Collector:
    """A server that keeps the bodies that it gets."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = zlib.decompress(body, wbits=31)
                bodies.append((self.path, body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port

    @property
    def spans(self) -> list[Any]:
        """Those of all purchases and requests, in the order in which they began."""
        requests = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        resources = [resource for request in requests for resource in request.resource_spans]
        spans = [span for resource in resources for scope in resource.scope_spans for span in scope.spans]
        return sorted(spans, key=lambda span: span.start_time_unix_nano)


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    threading.Thread(target=collector.server.serve_forever, daemon=True).start()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


def test_a_purchase_is_one_trace_from_the_front_door_to_the_mail(
    collector: Collector,
    buyer: User,
    item: SaleItem,
    pass_for: PassFor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setattr(steps, "recorder", span_recorder())
    User.objects.filter(pk=buyer.pk).update(email="buyer@example.com")
    request_id = reserve_by_api(item.pk, pass_for(buyer, item))["X-Request-ID"]
    intake.drain_once(item_id=item.pk)
    order = Order.objects.get()
    send_webhook(message(payment_of(order)))
    sending.send_due(seconds_max=10)
    assert mail.outbox[-1].extra_headers["Purchase-ID"] == str(order.reservation_id)

    def named() -> list[str]:
        trace_id = trace_id_of(order.purchase).to_bytes(16, "big")
        return [span.name for span in collector.spans if span.trace_id == trace_id]

    wait_until(lambda: len(named()) >= 5, seconds_max=30)
    assert sorted(named()) == ["mail", "order", "payment_page", "reserve", "settle"]
    wait_until(lambda: request_id in str(collector.spans), seconds_max=30)
    of_request = next(span for span in collector.spans if request_id in str(span))
    assert of_request.name == "POST /api/v1/sale-items/<int:item_id>/reservations/"


def test_a_share_of_the_traces_is_a_share_of_the_purchases() -> None:
    """A sampler takes a trace whose last 64 bits are below its share: those of a UUID always begin with 10."""
    for new_id in (uuid4, lambda: new_reservation_id(7)):
        ids = [trace_id_of(new_id()) for _ in range(200)]
        assert len(set(ids)) == 200
        assert 60 < sum(trace_id % 2**64 < 2**63 for trace_id in ids) < 140


def test_an_error_is_reported_without_a_person(collector: Collector) -> None:
    base = f"127.0.0.1:{collector.port}"
    endpoints = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{base}", "SENTRY_DSN": f"http://key@{base}/1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **endpoints, "PERSON": "lilei"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [span.name for span in collector.spans][:1] == ["reserve"]
    reports = [body.decode() for path, body in collector.bodies if path == "/api/1/envelope/"]
    events = [json.loads(line) for report in reports for line in report.splitlines() if '"exception"' in line]
    assert [event["exception"]["values"][0]["type"] for event in events] == ["ZeroDivisionError"] * 2
    assert done.stdout.strip() in [event["tags"]["request_id"] for event in events]
    assert {event["transaction"] for event in events} == {"/broken/{link}"}
    assert "lilei" not in "".join(reports)


def test_without_its_packages_the_setting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    monkeypatch.delitem(sys.modules, "shop.tracing.error_reports", raising=False)
    monkeypatch.delitem(sys.modules, "shop.tracing.apps", raising=False)
    with pytest.raises(ImproperlyConfigured, match="pip install -r requirements/tracing.txt"):
        import_module("shop.tracing.apps")
