"""The look at the load: the time until all units are orders, by the workers that are alive, and what a crowd costs."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from pytest_django import Settings

from orders.preflight import load_look, unit_costs
from orders.preflight.finding import Verdict
from orders.preflight.load_look import look_at_load
from seckill.models import SaleItem
from shop.celery import app
from shop.models import Product
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def costs() -> unit_costs.UnitCosts:
    return unit_costs.unit_costs(unit_costs.read_results(unit_costs.FILE))


def test_one_process_writes_an_item_so_more_help_only_with_more_items(costs: unit_costs.UnitCosts) -> None:
    each_seconds = (costs.order_worker_us + costs.order_postgres_us) / 1e6
    for units, processes, alone in (([40_000], 4, 40_000), ([40_000, 40_000], 2, 40_000), ([40_000] * 2, 1, 80_000)):
        text = str(load_look.drain_finding(units, costs, machine="", processes=processes).text)
        assert f"within {alone * each_seconds:.1f} s" in text


def test_buyers_who_would_wait_long_for_their_order_are_a_warning(costs: unit_costs.UnitCosts) -> None:
    found = load_look.drain_finding([1_000_000], costs, machine="", processes=8)
    assert (found.verdict, "1,000,000" in str(found.text)) == (Verdict.WARNING, True)


def test_a_crowd_that_this_machine_cannot_serve_is_a_warning(costs: unit_costs.UnitCosts) -> None:
    assert load_look.crowd_finding(100, costs).verdict is Verdict.GOOD
    assert load_look.crowd_finding(10_000_000, costs).verdict is Verdict.WARNING


def test_more_units_than_may_wait_are_said_and_that_no_worker_answers(
    product: Product, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_look, "processes_of", lambda queue: 1)
    item = make_item(product, quantity=5)
    settings.SECKILL_BACKLOG_MAX = 4
    texts = [str(finding.todo) for finding in look_at_load(item.sale)]
    assert "Raise SECKILL_BACKLOG_MAX to the units of the largest item." in texts
    settings.SECKILL_BACKLOG_MAX = 5
    assert [finding.verdict for finding in look_at_load(item.sale)] == [Verdict.GOOD, Verdict.GOOD]
    monkeypatch.setattr(load_look, "processes_of", lambda queue: 0)
    assert next(look_at_load(item.sale)).verdict is Verdict.WARNING


def test_only_processes_that_take_messages_of_the_queue_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Mock()
    workers.active_queues.return_value = {"orders": [{"name": "drain"}], "errands": [{"name": "mail"}]}
    workers.stats.return_value = {"orders": {"pool": {"max-concurrency": 3}}}
    inspect = Mock(return_value=workers)
    monkeypatch.setattr(app.control, "inspect", inspect)
    assert load_look.processes_of("repair") == 0
    assert load_look.processes_of("drain") == 3
    assert inspect.call_args.kwargs["destination"] == ["orders"]


def test_a_shop_without_the_file_says_where_it_belongs(
    item: SaleItem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_look, "FILE", tmp_path / "unit_costs.json")
    (found,) = look_at_load(item.sale)
    assert found.verdict is Verdict.WARNING
    assert str(tmp_path) in str(found.todo)


def test_nothing_is_said_of_a_sale_without_a_number_of_units(product: Product) -> None:
    assert list(look_at_load(make_item(product, quantity=None).sale)) == []
