"""The harness's mail server accepts messages, or refuses them, as a real one would."""

import smtplib
from collections.abc import Iterator
from email.message import EmailMessage
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.faults.kinds.mails import MailsFailing, MailSink
from shop.local.ports import free_port


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def sink(port: int) -> Iterator[MailSink]:
    sink = MailSink(port)
    yield sink
    sink.stop()


def send(port: int, message_id: str) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Message-ID"] = "shop@localhost", "buyer@localhost", message_id
    message.set_content("Thank you.\n.\nA line with a dot.")
    with smtplib.SMTP("127.0.0.1", port, timeout=5) as client:
        client.send_message(message)


def test_it_refuses_for_a_while_and_keeps_what_it_takes(sink: MailSink, port: int) -> None:
    fault = MailsFailing(cast(Any, SimpleNamespace(shop=None, rng=None)))
    fault._sink = sink
    # Without a mail that was refused, the trial proves nothing.
    send(port, "<0@localhost>")
    assert not fault.took_effect()
    sink.message_ids.clear()
    sink.refuses = True
    with pytest.raises(smtplib.SMTPDataError, match="not now"):
        send(port, "<1@localhost>")
    assert (sink.refused, sink.message_ids) == (1, [])
    sink.refuses = False
    send(port, "<1@localhost>")
    send(port, "<2@localhost>")
    assert sink.message_ids == ["<1@localhost>", "<2@localhost>"]
    assert fault.took_effect()
