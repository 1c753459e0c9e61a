"""The log of a whole purchase at level INFO has neither name nor address, nor a link that opens an order."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.contrib.auth.models import User
from django.core.mail.backends import locmem
from django.db import IntegrityError
from django.test import Client
from rest_framework.test import APIClient

from orders.guest_links import signed_number
from orders.mails import sending
from orders.models import Order
from shop.configuration.log_lines import logging_settings
from tests.steps.accounts import PASSWORD, link_in, one_mail, sign_in, sign_up
from tests.steps.buying import ADDRESS, check_out, put
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db(transaction=True)

MAIL = "marker.mailbox@example.org"
PERSON = {"name": "Markername", "line1": "Marker-Street 77", "phone": "+8613800778899"}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the shop would write to its log, as JSON."""
    settings = logging_settings(level="INFO", as_json=True)["formatters"]["line"]
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(settings.pop("()")(**settings))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)


def test_a_purchase_leaves_no_person_in_the_log(
    client: Client, as_manager: Client, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A newcomer signs up, mistypes the password, and opens the link of the mail.
    visitor = Client()
    sign_up(visitor, username="markeruser", email=MAIL)
    visitor.post(link_in(one_mail()))
    sign_in(Client(), login="markeruser", password="marker-wrong")
    sign_in(Client(), login=MAIL, password=PASSWORD)
    # A guest orders and pays.
    goods("kettle")
    token = put(APIClient(), kettle=1).json()["token"]
    answer = check_out(APIClient(), token, email=MAIL, shipping_address={**ADDRESS, **PERSON})
    assert answer.status_code == 201, answer.json()["errors"]
    order = Order.objects.get()
    link = signed_number(order.number)
    assert Client().get(f"/orders/guest/{link}/").status_code == 200
    # A browser that keeps no cookies has no token for the button.
    assert Client(enforce_csrf_checks=True).post(f"/orders/guest/{link}/pay/").status_code == 403
    send_webhook(message(payment_of(order)))
    # The mail server refuses the address once.
    with monkeypatch.context() as refused:
        refused.setattr(locmem.EmailBackend, "send_messages", refuse)
        sending.send_due(seconds_max=10)
    # Staff search for the person, and correct the address.
    for path in ("/admin/orders/order/", "/admin/auth/user/"):
        assert as_manager.get(path, {"q": MAIL}).status_code == 200
    as_manager.get("/admin/orders/order/", {"q": PERSON["name"]})
    # PostgreSQL quotes the row that breaks a rule.
    taken = "markeruser"
    try:
        User.objects.create(username=taken)
    except IntegrityError:
        structlog.get_logger("test").exception("row_refused")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    events = {line["event"] for line in lines}
    assert events >= {"request_started", "request_finished", "row_refused", "mail_refused"}
    assert "UniqueViolation" in log.getvalue()
    named = [line for line in lines if any(word in str(line).lower() for word in ("marker", "8899", link.lower()))]
    assert named == []


def refuse(_backend: Any, messages: list[Any]) -> int:
    raise OSError(f"550 no such mailbox: {messages[0].to}")
