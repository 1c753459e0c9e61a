"""A rehearsal of a sale: a running shop answers simulated buyers, and nothing of it is left anywhere."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.models import Model
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerAway
from pytest_django import Settings

from orders import tasks
from orders.models import Mail, Order, Rehearsal
from orders.rehearsal import course, crowd, running, shadows
from orders.rehearsal.crowd import AGAIN, NO_ANSWER, NOT_SENT, YES, Answer, Ask
from orders.rehearsal.plan import BUYERS_FROM, Refused, shadow_items, spread
from orders.rehearsal.rehearsal_report import Sample, made_report
from seckill import ledger
from seckill.items.shadow import SHADOWS_FROM
from seckill.live import answer_counts
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.passes.passes import new_reservation_id
from seckill.store.keys import keys_of
from shop.local.ports import free_port
from shop.models import Product, StockChange
from tests.live_shop import environment
from tests.steps.shop import goods, make_item

pytestmark = pytest.mark.django_db(transaction=True)

ROWS: tuple[type[Model], ...] = (Order, Mail, SaleChange, StockChange, User, SaleItem)
UNITS = 40


@pytest.fixture
def coming(product: Product, settings: Settings) -> SaleItem:
    settings.REHEARSALS = True
    return make_item(product, quantity=UNITS, opens_in_seconds=7200, closes_in_seconds=9000)


def counts() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in ROWS}


def reserve_shadows(rehearsal: Rehearsal, *, buyers: int) -> list[Outcome]:
    """As the web processes do for simulated buyers, once the shadow is open."""
    shadows.publish(rehearsal, opens_ms=ledger.clock_ms(item_id=rehearsal.shadow_ids[0]) - 1)
    (item_id,) = rehearsal.shadow_ids
    return [
        ledger.reserve(
            item_id=item_id, reservation_id=new_reservation_id(item_id), buyer_id=BUYERS_FROM + number, units=1
        ).outcome
        for number in range(buyers)
    ]


def test_a_running_shop_is_rehearsed_from_end_to_end(product: Product, live_shop: str, store: Any) -> None:
    item = make_item(product, quantity=UNITS, opens_in_seconds=7200, closes_in_seconds=9000)
    before, keys = counts(), set(store.keys("*"))
    done = subprocess.run(
        [sys.executable, "manage.py", "sale_rehearsal", str(item.sale_id), "--buyers", "200"],
        env={**os.environ, **environment(), "REHEARSALS": "1", "SHOP_URL": live_shop},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 buyers heard yes, for 40 units: never one too many." in done.stdout
    assert "All 20 units that were not paid for came back" in done.stdout
    assert "20 late buyers asked" in done.stdout
    report = Rehearsal.objects.get(sale=item.sale).report
    assert report is not None
    assert (report["buyers"], report["yes"], report["failed"], report["waiting"]) == (200, UNITS, 0, 0)
    assert sum(sum(step) for step in report["steps"]) == 200
    assert counts() == before
    assert set(store.keys("*")) == keys


@pytest.mark.parametrize("published", [True, False], ids=["published", "draft"])
def test_orders_are_written_and_taken_back(product: Product, settings: Settings, store: Any, published: bool) -> None:
    settings.REHEARSALS = True
    item = make_item(product, quantity=UNITS, opens_in_seconds=7200, closes_in_seconds=9000, published=published)
    rehearsal, before = running.start(item.sale, buyers=100), counts()
    assert reserve_shadows(rehearsal, buyers=UNITS + 1) == [Outcome.RESERVED] * UNITS + [Outcome.HELD_BY_OTHERS]
    assert 0 < store.ttl(keys_of(rehearsal.shadow_ids[0]).item) <= shadows.KEPT_SECONDS
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('orders_order', 'id'))")
        (first,) = cursor.fetchone()
        assert tasks.drain_outbox(item_id=rehearsal.shadow_ids[0]) == UNITS
        cursor.execute("SELECT nextval(pg_get_serial_sequence('orders_order', 'id'))")
        # The rows were there.
        assert cursor.fetchone()[0] - first > UNITS
    assert counts() == before
    keys = keys_of(rehearsal.shadow_ids[0])
    assert (store.xlen(keys.outbox), store.exists(keys.dead)) == (0, 0)
    rehearsal.refresh_from_db()
    assert rehearsal.written_at is not None
    # Even if the row is lost, the store forgets them.
    left = store.keys("seckill:{1407*")
    assert len(left) > 3
    assert all(0 < store.ttl(key) <= shadows.KEPT_SECONDS for key in left)


def test_the_sweep_removes_what_a_killed_process_left(
    coming: SaleItem, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadows, "HOLD_SECONDS", 600)
    keys = set(store.keys("*"))
    rehearsal = running.start(coming.sale, buyers=100)
    reserve_shadows(rehearsal, buyers=5)
    # Their holds go on.
    assert course.return_units(rehearsal_id=rehearsal.pk) == 0
    assert tasks.clear_rehearsals() == 0
    with pytest.raises(Refused, match="has been running since"):
        running.start(coming.sale, buyers=100)
    Rehearsal.objects.update(pulse_at=timezone.now() - timedelta(minutes=1), figures={"asked": 5})
    assert tasks.clear_rehearsals() == 1
    assert set(store.keys("*")) == keys
    rehearsal.refresh_from_db()
    assert set(rehearsal.problem) == {"en", "zh_hans"}
    assert "was interrupted" in rehearsal.problem["en"]
    # A process that was only slow learns that it was taken for dead, and late messages find nothing.
    with pytest.raises(Refused, match="was ended from elsewhere"):
        course.Course(rehearsal, show=str)._look(Rehearsal.Stage.RUSH)
    assert tasks.drain_outbox(item_id=rehearsal.shadow_ids[0]) == 0
    assert tasks.clear_rehearsals() == 0
    rehearsal = running.start(coming.sale, buyers=100)
    Rehearsal.objects.update(pulse_at=timezone.now() - timedelta(minutes=1))
    # A worker that takes the message so late sends no crowd: the sale may be open by now.
    running.rehearse(rehearsal_id=rehearsal.pk)
    assert tasks.clear_rehearsals() == 1
    rehearsal.refresh_from_db()
    assert "No worker took" in rehearsal.problem["en"]


def test_when_a_sale_is_not_rehearsed(coming: SaleItem, settings: Settings) -> None:
    def refuses(text: str, opens: int = 7200, closes: int = 9000) -> None:
        now = timezone.now()
        window = {"opens_at": now + timedelta(seconds=opens), "closes_at": now + timedelta(seconds=closes)}
        Sale.objects.update(**window)
        with pytest.raises(CommandError, match=text) as refused:
            call_command("sale_rehearsal", str(coming.sale_id))
        assert refused.value.returncode == 2
        assert not Rehearsal.objects.exists()

    refuses("opens in less than 15 minutes", opens=600)
    refuses("or is open already", opens=-600)
    refuses("has ended", opens=-7200, closes=-60)
    settings.REHEARSALS = False
    refuses("switched off")
    settings.REHEARSALS = True
    coming.delete()
    refuses("no items yet")


def crowd_that_reserves(*, then: Callable[[int], object]) -> Callable[..., None]:
    """Stands in for the calls over HTTP: all reserve in the store. `then` gets the shadow's id once all are told."""

    def ask_all(address: crowd.Address, asks: Sequence[Ask], *, answers: list[Answer], **times: object) -> None:
        (item_id,) = {ask.item_id for ask in asks}
        for number in range(len(asks)):
            pk = new_reservation_id(item_id)
            told = ledger.reserve(item_id=item_id, reservation_id=pk, buyer_id=BUYERS_FROM + number, units=1).outcome
            answers.append(Answer(item_id, told.value, 0.01, time.monotonic(), 1, str(pk)))
        then(item_id)

    return ask_all


def test_a_store_that_is_restarted_after_the_rush_breaks_the_rehearsal_off(
    coming: SaleItem, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a rush after which the store restarts, and no worker
    def restarted(item_id: int) -> None:
        store.hset(keys_of(item_id).item, "incarnation", "of the server before")

    monkeypatch.setattr(course, "LEAD_SECONDS", 0.0)
    monkeypatch.setattr(crowd, "first_word", lambda address, ask: "not_open")
    monkeypatch.setattr(crowd, "ask_all", crowd_that_reserves(then=restarted))
    # When the rehearsal goes on
    with pytest.raises(CommandError, match="was restarted during the rehearsal") as broken_off:
        call_command("sale_rehearsal", str(coming.sale_id), "--buyers", "50")
    # Then it says so instead of a report
    assert broken_off.value.returncode == 2
    assert Rehearsal.objects.get().report is None


def test_a_broker_that_goes_away_breaks_the_rehearsal_off(coming: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "LEAD_SECONDS", 0.0)
    monkeypatch.setattr(course, "ORDERS_SECONDS_MAX", 0.0)
    monkeypatch.setattr(shadows, "HOLD_SECONDS", 1)
    monkeypatch.setattr(crowd, "first_word", lambda address, ask: "not_open")
    monkeypatch.setattr(crowd, "ask_all", crowd_that_reserves(then=str))
    monkeypatch.setattr(course.return_units, "apply_async", mock.Mock(side_effect=BrokerAway("Connection refused")))
    with pytest.raises(CommandError, match="went away during the rehearsal: Connection refused") as broken_off:
        call_command("sale_rehearsal", str(coming.sale_id), "--buyers", "50")
    assert broken_off.value.returncode == 2


@pytest.mark.parametrize("when", ["before the rush", "after the rush"])
def test_a_rehearsal_of_a_draft_that_is_deleted_meanwhile_ends_and_leaves_nothing(
    product: Product, settings: Settings, store: Any, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    # Given a draft that a colleague deletes while it is rehearsed
    settings.REHEARSALS = True
    draft = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, published=False)
    keys = set(store.keys("*"))

    def delete(*_: object) -> str:
        Sale.objects.get().delete()
        # The rush has a thread of its own.
        connection.close()
        return "not_open"

    monkeypatch.setattr(course, "LEAD_SECONDS", 0.0)
    monkeypatch.setattr(crowd, "first_word", delete if when == "before the rush" else lambda *_: "not_open")
    monkeypatch.setattr(crowd, "ask_all", crowd_that_reserves(then=delete if when == "after the rush" else str))
    # When the rehearsal goes on
    with pytest.raises(CommandError, match="The sale was deleted during the rehearsal") as broken_off:
        call_command("sale_rehearsal", str(draft.sale_id), "--buyers", "50")
    # Then it ends with that, and its shadows are gone
    assert broken_off.value.returncode == 2
    assert not Rehearsal.objects.exists()
    assert set(store.keys("*")) == keys


def test_a_draft_that_loses_an_item_before_its_rehearsal_opens_breaks_it_off(
    product: Product, settings: Settings
) -> None:
    settings.REHEARSALS = True
    draft = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, published=False)
    rehearsal = running.start(draft.sale, buyers=50)
    reserve_shadows(rehearsal, buyers=3)
    draft.delete()
    assert tasks.drain_outbox(item_id=rehearsal.shadow_ids[0]) == 3
    running.run(rehearsal)
    rehearsal.refresh_from_db()
    assert rehearsal.problem["en"] == "The sale or an item of it was deleted during the rehearsal."


def test_a_rehearsal_whose_end_postgresql_does_not_take_is_no_broken_promise(
    coming: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = mock.Mock(side_effect=OperationalError("server closed the connection\nunexpectedly"))
    monkeypatch.setattr(Rehearsal, "go_on", gone)
    monkeypatch.setattr(course.Course, "report", gone)
    with pytest.raises(CommandError, match="PostgreSQL does not answer: server closed") as broken_off:
        call_command("sale_rehearsal", str(coming.sale_id))
    assert broken_off.value.returncode == 2


def test_a_rehearsal_that_is_interrupted_says_so_and_leaves_nothing_and_of_each_sale_the_last_is_kept(
    coming: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsal = running.start(coming.sale, buyers=50)
    monkeypatch.setattr(course.Course, "report", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        running.run(rehearsal)
    rehearsal.refresh_from_db()
    assert "was interrupted" in rehearsal.problem["en"]
    assert rehearsal.cleared_at is not None
    monkeypatch.setattr(course.Course, "report", lambda _course: {"yes": 40})
    running.run(running.start(coming.sale, buyers=50))
    assert Rehearsal.objects.get().report == {"yes": 40}


class NotThisShop(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


@pytest.fixture
def another_server() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), NotThisShop) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("answers", [True, False], ids=["another server", "nobody"])
def test_no_crowd_is_sent_to_an_address_that_is_not_the_shops(
    coming: SaleItem, settings: Settings, store: Any, another_server: int, answers: bool
) -> None:
    keys = set(store.keys("*"))
    settings.SHOP_URL = f"http://127.0.0.1:{another_server if answers else free_port()}"
    text = "it said “http_200” instead of “not_open”" if answers else "Nobody answers at the shop's address"
    with pytest.raises(CommandError, match=text) as refused:
        call_command("sale_rehearsal", str(coming.sale_id), "--buyers", "50")
    assert refused.value.returncode == 2
    assert set(store.keys("*")) == keys
    assert Rehearsal.objects.get().status == Rehearsal.Status.BROKEN


def test_a_simulated_buyer_asks_again_as_a_page_does_and_not_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "RETRY_SECONDS", 0.0)
    line = crowd.Line(crowd.address_of("http://shop.example", path="/%d/"))
    said = iter([(503, {}, b'{"code": "unavailable"}'), (201, {"idempotent-replayed": "true"}, b'{"id": "7"}')])

    async def call(_ask: Ask) -> tuple[int, dict[str, str], bytes]:
        return next(said)

    monkeypatch.setattr(line, "_call", call)
    now_s = time.monotonic()
    again, late = (asyncio.run(crowd.told(line, Ask(1, "pass"), ends_s=now_s + seconds)) for seconds in (60, 0))
    assert (again.word, again.tries, again.reservation_id) == (AGAIN, 2, "7")
    assert (late.word, late.tries) == (NOT_SENT, 0)


def test_what_a_rehearsal_has_seen_of_broken_promises_is_counted(coming: SaleItem) -> None:
    rehearsal = running.start(coming.sale, buyers=100)
    reserve_shadows(rehearsal, buyers=5)
    ((item_id, counters),) = shadows.read(rehearsal).items()
    one = course.Course(rehearsal, show=str)
    # Reservations that the store does not know, one more than there are units; two answers that are none, and a call
    # that was not made.
    words = [YES] * (UNITS + 1) + ["sold_out", "http_502", NO_ANSWER, NOT_SENT]
    one._seen.answers += [Answer(item_id, word, 0.5, 1.0, 1, str(new_reservation_id(item_id))) for word in words[:-2]]
    one._seen.answers += [Answer(item_id, word, 9.0, 1.0, 1) for word in words[-2:]]
    one._seen.samples += [Sample.of([counters, replace(counters, held=held)], at_s=1.0) for held in (5, 6)]
    one._check_promises()
    report = made_report(rehearsal, one._seen)
    assert (report["lost"], report["excess"], report["sums_hold"]) == (UNITS + 1, 1, False)
    assert (report["failed"], report["buyers"]) == (2, UNITS + 4)
    assert one._seen.samples[0].sums_hold


def test_answers_of_a_rehearsal_are_no_figures_of_the_shop() -> None:
    answer_counts.add_to_sums({(SHADOWS_FROM, Outcome.RESERVED): 7, (3, Outcome.RESERVED): 2}, second=1_000)
    assert answer_counts.in_all()[Outcome.RESERVED] == 2
    assert answer_counts.of_items([SHADOWS_FROM])[SHADOWS_FROM][Outcome.RESERVED] == 0


def test_a_large_sale_is_scaled_and_its_buyers_are_mixed(coming: SaleItem) -> None:
    SaleItem.objects.update(quantity=10_000)
    assert shadow_items(coming.sale, buyers=1_000) == [(coming.pk, 500)]
    rare = SaleItem.objects.create(sale=coming.sale, variant=goods("rare"), price_minor=100, quantity=1)
    assert shadow_items(coming.sale, buyers=1_000) == [(coming.pk, 499), (rare.pk, 1)]
    places = list(spread(8, [(1, 30), (2, 10)]))
    assert (places.count(0), places.count(1)) == (6, 2)
    assert set(places[:4]) == {0, 1}
