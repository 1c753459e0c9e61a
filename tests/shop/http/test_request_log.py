"""What requests leave in the log, and their id in the answer."""

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from shop.configuration.log_lines import TEXT_LENGTH_MAX, logging_settings
from shop.http import request_log

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_former_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "refusals", request_log.Refusals())


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """What a shop would write: the records that no logger and no filter holds back.

    Those of this thread: one that an earlier test has left may write about a server that is away.
    """
    written: list[logging.LogRecord] = []
    here = threading.get_ident()

    class Writer(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == here:
                written.append(record)

    writer = Writer(level=logging.WARNING)
    logging.getLogger().addHandler(writer)
    yield written
    logging.getLogger().removeHandler(writer)


def event_of(line: logging.LogRecord) -> str:
    fields: Any = line.msg
    return str(fields["event"])


@pytest.mark.usefixtures("_no_database")
@pytest.mark.parametrize("path", ["/", "/api/v1/sales/"])
def test_while_postgresql_is_away_many_requests_are_one_line(
    path: str, client: Client, lines: list[logging.LogRecord]
) -> None:
    client.raise_request_exception = False
    assert [client.get(path).status_code for _ in range(5)] == [503] * 5
    assert len(lines) == 1
    assert event_of(lines[0]) == "requests_unavailable"
    assert "Traceback" not in str(lines[0].msg)


@pytest.mark.usefixtures("_no_database")
def test_a_page_that_is_rendered_for_the_memory_is_not_a_request(
    client: Client, lines: list[logging.LogRecord]
) -> None:
    client.raise_request_exception = False
    get: Any = client.get
    assert get("/", **{request_log.RENDERING: True}).status_code == 503
    assert lines == []


def test_a_fault_of_the_shop_is_logged_once_with_its_traceback(
    client: Client, lines: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shop.http.health.source_answers", lambda: 1 / 0)
    client.raise_request_exception = False
    answer = client.get("/readyz")
    assert answer.status_code == 500
    [line] = lines
    fields: Any = line.msg
    assert (fields["event"], fields["request_id"]) == ("request_failed", answer["X-Request-ID"])
    assert "ZeroDivisionError" in str(fields)


def test_a_wrong_host_is_one_line(client: Client, lines: list[logging.LogRecord]) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    [line] = lines
    assert "evil.example" in line.getMessage()
    assert line.exc_info is None


def test_too_long_an_address_and_too_many_fields_are_one_line_each(
    client: Client, lines: list[logging.LogRecord]
) -> None:
    assert client.get("/orders/", {"q": "x" * 17_000}).status_code == 400
    assert client.post("/cart/add/", {f"field-{number}": "1" for number in range(1_001)}).status_code == 400
    assert [line.exc_info for line in lines] == [None, None]


def test_each_answer_has_an_id_of_its_own(client: Client) -> None:
    ids = {client.get(path)["X-Request-ID"] for path in ("/", "/", "/api/v1/sales/", "/healthz", "/nothing/")}
    assert len(ids) == 5


def test_the_id_of_a_trusted_proxy_is_kept(client: Client, settings: Settings) -> None:
    for proxies, given, kept in (
        (1, "f3c1d2aa-0001", True),
        (0, "f3c1d2aa-0001", False),
        (1, "short", False),
        (1, "a" * 65, False),
        (1, 'x" level=error event="forged', False),
    ):
        settings.TRUSTED_PROXIES = proxies
        answer = client.get("/healthz", headers={"x-request-id": given})
        assert (answer["X-Request-ID"] == given) == kept, given


def test_a_long_text_is_cut() -> None:
    formatter: Any = logging_settings(level="WARNING")["formatters"]["line"]
    line = formatter["()"](processors=formatter["processors"], foreign_pre_chain=formatter["foreign_pre_chain"]).format(
        logging.LogRecord("celery", logging.ERROR, "", 0, "No master found: %s", ("Redis<…>" * 1_000,), None)
    )
    assert len(line) < TEXT_LENGTH_MAX + 200
    assert line.startswith("timestamp=")
