"""The ordinary stock is audited once a night by itself, also where beat was started at noon or a night was missed."""

from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.repair import nightly_stock_audit
from orders.repair.stock_audit import StockAudit, StockDifference
from shop.models import Variant
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db(transaction=True)

NIGHT = datetime(2026, 6, 1, nightly_stock_audit.HOUR, 10, tzinfo=UTC)


def runs_at(moment: datetime) -> bool:
    with (
        mock.patch.object(timezone, "now", return_value=moment),
        mock.patch.object(nightly_stock_audit, "audit_stock", return_value=StockAudit(1, [])) as audit,
    ):
        tasks.audit_stock_at_night()
    return bool(audit.called)


def test_it_runs_once_in_each_night_and_makes_up_for_a_missed_one() -> None:
    assert runs_at(NIGHT), "a new shop has no result yet"
    assert not runs_at(NIGHT + timedelta(minutes=10))
    assert not runs_at(NIGHT + timedelta(hours=12))
    assert not runs_at(NIGHT + timedelta(hours=22))
    assert runs_at(NIGHT + timedelta(hours=24))
    assert not runs_at(NIGHT + timedelta(hours=24, minutes=10))
    assert runs_at(NIGHT + timedelta(hours=24 + 31))


def test_a_clock_that_was_ahead_does_not_end_the_audits() -> None:
    assert runs_at(NIGHT + timedelta(days=400))
    assert runs_at(NIGHT)
    assert not runs_at(NIGHT + timedelta(minutes=10))


def test_a_difference_is_counted_at_metrics(client: Client) -> None:
    cup = goods("cup", units=5)
    assert "stampede_stock_differences 0" not in client.get("/metrics").text
    assert tasks.audit_stock_at_night() == 0
    assert "stampede_stock_differences 0" in client.get("/metrics").text
    Variant.objects.filter(pk=cup.pk).update(available=7)
    cache.delete(nightly_stock_audit.RESULT_KEY)
    assert tasks.audit_stock_at_night() == 1
    assert "stampede_stock_differences 1" in client.get("/metrics").text


def test_a_difference_is_written_to_the_log() -> None:
    found = StockAudit(1, [StockDifference("CUP", "held, by counter and orders", 2, 1)])
    with (
        mock.patch.object(nightly_stock_audit, "audit_stock", return_value=found),
        mock.patch.object(nightly_stock_audit, "log") as log,
    ):
        assert tasks.audit_stock_at_night() == 1
    assert "CUP" in str(log.error.call_args)
