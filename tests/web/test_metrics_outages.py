"""/metrics while a server is away: 200, what the others say, and which one it is."""

from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.test import Client
from kombu.exceptions import OperationalError
from prometheus_client.core import Metric

from seckill.models import SaleItem
from shop.http import health
from tests.steps.buying import reserve
from tests.steps.shop import server_away

pytestmark = pytest.mark.django_db(transaction=True)

SOURCES = ("database", "reservation_store", "cache", "broker")


def scraped(client: Client) -> dict[str, float]:
    """The values at /metrics by name and labels."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def sources_up(values: dict[str, float]) -> dict[str, float]:
    return {source: values[f'stampede_source_up{{source="{source}"}}'] for source in SOURCES}


def test_every_source_is_up(client: Client) -> None:
    assert sources_up(scraped(client)) == dict.fromkeys(SOURCES, 1)


def test_without_postgresql_the_outbox_is_still_watched(client: Client, item: SaleItem, buyer: User) -> None:
    scraped(client)
    reserve(item, buyer)
    with server_away("database"):
        values = scraped(client)
    assert sources_up(values) == {**dict.fromkeys(SOURCES, 1), "database": 0}
    assert values[f'stampede_outbox_backlog{{item="{item.pk}"}}'] == 1
    assert values['stampede_store_failures_total{cause="unreachable"}'] == 0
    assert "stampede_orders_overdue" not in values


@pytest.mark.parametrize("source", ["cache", "reservation_store"])
def test_without_a_valkey_server_the_rows_are_counted(source: str, client: Client, item: SaleItem) -> None:
    with server_away(source):
        values = scraped(client)
    assert sources_up(values)[source] == 0
    assert sources_up(values)["database"] == 1
    assert values["stampede_orders_overdue"] == 0
    assert (f'stampede_outbox_backlog{{item="{item.pk}"}}' in values) == (source == "cache")
    assert ('stampede_answers_total{answer="sold_out"}' in values) == (source != "cache")


def test_without_the_broker_everything_else_is_shown(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health.SOURCES, "broker", broken)
    values = scraped(client)
    assert sources_up(values) == {**dict.fromkeys(SOURCES, 1), "broker": 0}
    assert values["stampede_orders_overdue"] == 0


def test_a_server_that_goes_away_between_the_first_question_and_the_next_is_not_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.metrics.scrape.queue_metrics", Mock(side_effect=OperationalError("refused")))
    assert sources_up(scraped(client)) == {**dict.fromkeys(SOURCES, 1), "broker": 0}


def test_a_defect_in_one_figure_hides_no_other(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.metrics.scrape.audit_metrics", broken)
    values = scraped(client)
    assert sources_up(values) == dict.fromkeys(SOURCES, 1)
    assert values["stampede_orders_overdue"] == 0
    assert values["stampede_orders_rejected_total"] == 0


def broken() -> list[Metric]:
    raise KeyError("missing")
