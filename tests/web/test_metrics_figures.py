"""/metrics: each figure of work that does not get done, made to differ from 0."""

import asyncio
import time
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from orders import tasks
from orders.life.intake import broken_yeses
from orders.models import Order
from orders.repair.reconcile import reconcile
from seckill.items import item_state
from seckill.line.waiting_list import sweep_lines
from seckill.models import SaleItem
from seckill.outbox import outbox
from seckill.store import durability
from seckill.store.client import StoreUnreachable, all_members
from seckill.store.keys import keys_of
from seckill.waiting_room.room_ledger import arrive
from shop.background import sweep_notes
from shop.background.queued_tasks import QUEUES, known_sweeps
from shop.celery import app
from tests.steps.buying import drained, order_of, reserve
from tests.steps.operating import figure_at
from tests.steps.shop import goods, make_item
from tests.steps.waiting import join
from web.lanes import Lane, LaneFull, full_lanes, lane_seconds
from web.metrics.item_figures import UNVERIFIED_KEY

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_messages_of_each_queue_are_counted(client: Client) -> None:
    with app.connection_for_write() as broker:
        before = figure_at(client, 'stampede_queue_length{queue="mail"}')
        app.send_task("tests.nothing", queue="mail", connection=broker)
    assert before is not None
    assert figure_at(client, 'stampede_queue_length{queue="mail"}') == before + 1
    text = client.get("/metrics").text
    assert [queue for queue in set(QUEUES.values()) if f'stampede_queue_length{{queue="{queue}"}} ' not in text] == []


def test_a_sweep_that_did_its_work_is_young(client: Client) -> None:
    name = 'stampede_sweep_age_seconds{queue="expiry",sweep="settle_orders"}'
    young = figure_at(client, name)
    assert young is not None
    assert young < 60, "it counts from the first look"
    cache.set(sweep_notes.key_of("settle_orders"), (time.time() - 1000, 0.0))
    old = figure_at(client, name)
    assert old is not None
    assert old >= 1000
    tasks.settle_orders.apply()
    sweep_notes.write()
    young = figure_at(client, name)
    assert young is not None
    assert young < 60
    # And how long its message has waited.
    cache.set(sweep_notes.key_of("expire_overdue"), (time.time() - 50, 7.0))
    sweep_notes.note_success("settle_orders", waited_seconds=42.0)
    sweep_notes.write()
    assert figure_at(client, 'stampede_queue_wait_seconds{queue="expiry"}') == 42
    assert sweep_notes.waited_seconds(expires=None, life_seconds=60) == 0
    assert sweep_notes.waited_seconds(expires="2020-01-01T00:00:00", life_seconds=60) > 1_000_000


def test_a_sweep_that_found_a_server_away_has_not_done_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> int:
        raise StoreUnreachable

    monkeypatch.setattr("orders.life.settlement.settle_orders", away)
    monkeypatch.setattr(sweep_notes, "note_success", pytest.fail)
    assert tasks.settle_orders.apply().get() == 0


def test_every_sweep_of_beat_is_watched(client: Client) -> None:
    beat = set(app.conf.beat_schedule or {}) | set(known_sweeps())
    assert len(beat) > 15
    text = client.get("/metrics").text
    assert [name for name in beat if f'sweep="{name}"' not in text] == []


def test_an_item_that_is_not_verified_says_since_when(client: Client, item: SaleItem) -> None:
    name = f'stampede_item_unverified_seconds{{item="{item.pk}"}}'
    assert figure_at(client, name) == 0
    item_state.mark_unverified(item_id=item.pk)
    assert figure_at(client, name) == 1
    [(item_id, since_s)] = cache.get(UNVERIFIED_KEY).items()
    cache.set(UNVERIFIED_KEY, {item_id: since_s - 90})
    seconds = figure_at(client, name)
    assert seconds is not None
    assert seconds >= 90
    reconcile(item_id=item.pk)
    assert figure_at(client, name) == 0
    assert cache.get(UNVERIFIED_KEY) == {}


def test_an_entry_that_cannot_be_read_is_a_dead_letter(client: Client, item: SaleItem, store: Any) -> None:
    name = f'stampede_dead_letters{{item="{item.pk}"}}'
    assert figure_at(client, name) == 0
    store.xadd(keys_of(item.pk).outbox, {"is": "no reservation"})
    drained(item)
    assert figure_at(client, name) == 1
    assert outbox.waiting(item_ids=[item.pk])[item.pk].entries == 0


def test_people_who_wait_are_counted_by_item_and_by_sale(
    client: Client, item: SaleItem, buyer: User, rival: User
) -> None:
    in_line = make_item(goods("oolong", price_minor=9900).product, quantity=1, waiting_list=True)
    sweep_lines()
    reserve(in_line, buyer)
    join(in_line, rival)
    room = make_item(goods("sencha", price_minor=9900).product, opens_in_seconds=300, has_room=True)
    tasks.move_waiting_rooms()
    for person in (buyer, rival):
        arrive(sale_id=room.sale_id, account_id=person.pk)
    assert figure_at(client, f'stampede_line_people{{item="{in_line.pk}"}}') == 1
    assert figure_at(client, f'stampede_line_people{{item="{item.pk}"}}') == 0
    assert figure_at(client, f'stampede_room_people{{sale="{room.sale_id}"}}') == 2
    assert figure_at(client, f'stampede_room_people{{sale="{item.sale_id}"}}') is None


def test_a_yes_that_became_a_rejected_order_is_counted(client: Client, item: SaleItem, buyer: User) -> None:
    assert figure_at(client, "stampede_orders_rejected_total") == 0
    reserve(item, buyer)
    SaleItem.objects.filter(pk=item.pk).update(quantity=0)
    drained(item)
    broken_yeses.write()
    assert figure_at(client, "stampede_orders_rejected_total") == 1


def test_an_order_is_overdue_when_the_sweep_had_time_to_expire_it(client: Client, item: SaleItem, buyer: User) -> None:
    order_of(item, buyer)
    for seconds, overdue in ((-10, 0), (5, 0), (40, 1)):
        Order.objects.update(expires_at=Now() - timedelta(seconds=seconds))
        assert figure_at(client, "stampede_orders_overdue") == overdue


def test_weak_settings_are_judged_by_a_sweep_and_the_replicas_of_each_primary_are_counted(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert figure_at(client, 'stampede_weak_settings{setting="appendfsync"}') is None
    weak = [durability.Weakness(setting="appendfsync", value="no", text="")] * 2
    monkeypatch.setattr("seckill.store.weak_settings.find_weaknesses", lambda: weak)
    settings.SECKILL_YES_REPLICAS = 1
    # Of a replica nothing is asked.
    members = [*all_members(), Mock(name="replica", primary=False, client=None)]
    monkeypatch.setattr("web.metrics.item_figures.all_members", lambda: members)
    assert tasks.judge_stores() == 2
    assert figure_at(client, 'stampede_weak_settings{setting="appendfsync"}') == 2
    assert figure_at(client, 'stampede_weak_settings{setting="fsync"}') == 0
    assert figure_at(client, 'stampede_store_replicas{node="primary"}') == 0
    assert figure_at(client, "stampede_store_replicas_wanted") == 1


def test_a_lane_says_how_long_it_took_and_that_it_was_full(client: Client) -> None:
    async def ask(seconds_max: float) -> None:
        await Lane("pages", path="", threads=1, waiting_seconds_max=seconds_max).run(lambda: None)

    asyncio.run(ask(60))
    lane_seconds.counts.write()
    assert figure_at(client, 'stampede_lane_seconds_count{lane="pages"}') == 1
    assert figure_at(client, 'stampede_lane_seconds_bucket{lane="pages",le="+Inf"}') == 1
    nobody = Lane("pages", path="", threads=0, waiting_seconds_max=0.01)
    with pytest.raises(LaneFull):
        asyncio.run(nobody.run(lambda: None))
    full_lanes.write()
    assert figure_at(client, 'stampede_lane_full_total{lane="pages"}') == 1


def test_durations_are_sorted_into_their_buckets() -> None:
    for seconds in (0.005, 0.01, 0.02, 100):
        lane_seconds.observe("pages", seconds)
    lane_seconds.counts.write()
    durations = lane_seconds.in_all_processes(["pages"])["pages"]
    assert durations.counts == [2, 1, 0, 0, 0, 0, 0, 1]
    assert durations.seconds == pytest.approx(100.035)


def test_a_token_guards_the_figures(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "long-and-random"
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer guessed"}).status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer long-and-random"}).status_code == 200
