"""Intake: each entry becomes one order, whatever crashes or repeats, and PostgreSQL refuses to oversell."""

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, connection, connections, transaction
from django.test import Client
from django.utils import timezone
from django_redis import get_redis_connection

from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Order, OrderLine, OrderStatus
from orders.models.order import CODE_LENGTH
from seckill.items import holdings
from seckill.models import SaleItem
from seckill.outbox import outbox
from seckill.store.keys import keys_of
from shop.models import Product
from shop.times.timestamps import to_ms
from tests.steps.at_once import at_once, in_the_middle
from tests.steps.buying import new_buyers, reserve, reserve_often, signed_in
from tests.steps.shop import make_item, other_item
from tests.steps.store import counters_of, figures, store_away

pytestmark = pytest.mark.django_db(transaction=True)


def taken(item: SaleItem) -> int:
    item.refresh_from_db()
    return item.taken


def waiting(item: SaleItem) -> int:
    return outbox.backlogs(item_ids=[item.pk]).get(item.pk, 0)


def test_a_batch_becomes_orders_with_one_line_each(product: Product) -> None:
    item = make_item(product, quantity=100, per_buyer_max=3)
    reservations = {
        reserve(item, buyer, units): (buyer, units) for buyer, units in zip(new_buyers(3), [1, 2, 3], strict=True)
    }
    assert intake.drain_once(item_id=item.pk) == 3
    orders = Order.objects.prefetch_related("lines")
    assert {order.reservation_id for order in orders} == set(reservations)
    for order in orders:
        assert order.reservation_id is not None
        buyer, units = reservations[order.reservation_id]
        (line,) = order.lines.all()
        assert (order.buyer_id, order.status) == (buyer.pk, OrderStatus.AWAITING_PAYMENT)
        assert (line.units, line.unit_price_minor, line.sale_item_id) == (units, 1900, item.pk)
        assert order.amount_minor == units * 1900
        hold = holdings.find_hold(item_id=item.pk, reservation_id=order.reservation_id)
        assert hold is not None
        assert int(order.expires_at.timestamp() * 1000) == hold.deadline_ms
    assert taken(item) == 6
    assert waiting(item) == 0


def test_batches_are_bounded_and_an_empty_outbox_returns_0(product: Product) -> None:
    item = make_item(product, quantity=None)
    reserve_often(item, 7)
    assert [intake.drain_once(item_id=item.pk, batch_max=3) for _ in range(4)] == [3, 3, 1, 0]
    assert Order.objects.count() == 7
    assert intake.drain_once(item_id=999_999) == 0


def test_an_entry_read_twice_is_one_order(item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve(item, buyer)
    monkeypatch.setattr(outbox, "TAKE_OVER_IDLE_MS", 0)
    entries = outbox.read_batch(item_id=item.pk, count_max=10, consumer="one that dies after its commit")
    intake.persist(item_id=item.pk, new_orders=[intake.parse_entry(entry) for entry in entries])
    assert (Order.objects.count(), taken(item), waiting(item)) == (1, 1, 1)

    assert intake.drain_once(item_id=item.pk) == 1
    assert (Order.objects.count(), OrderLine.objects.count(), taken(item), waiting(item)) == (1, 1, 1, 0)


def test_entries_of_a_dead_consumer_are_taken_over(
    item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(item, buyer)
    outbox.read_batch(item_id=item.pk, count_max=10, consumer="one that dies at once")
    assert intake.drain_once(item_id=item.pk) == 0, "a consumer that may still be alive keeps its entries"
    monkeypatch.setattr(outbox, "TAKE_OVER_IDLE_MS", 0)
    assert intake.drain_once(item_id=item.pk) == 1
    assert Order.objects.count() == 1


def test_two_consumers_on_the_same_entries_make_each_order_once(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = make_item(product, quantity=80)
    for buyer in new_buyers(80):
        reserve(item, buyer)
    monkeypatch.setattr(outbox, "TAKE_OVER_IDLE_MS", 0)

    def consume(name: str) -> None:
        while intake.drain_once(item_id=item.pk, batch_max=8, consumer=name):
            pass

    at_once([partial(consume, f"consumer-{number}") for number in range(4)])
    assert (Order.objects.count(), OrderLine.objects.count(), taken(item), waiting(item)) == (80, 80, 80, 0)


def test_nothing_is_acknowledged_when_the_commit_fails(
    item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(item, buyer)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 200")
    blocker = connections["default"].copy()
    blocker.set_autocommit(False)
    try:
        with blocker.cursor() as cursor:
            cursor.execute("SELECT 1 FROM seckill_saleitem WHERE id = %s FOR UPDATE", [item.pk])
        with pytest.raises(OperationalError):
            intake.drain_once(item_id=item.pk)
    finally:
        blocker.rollback()
        blocker.close()
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
    assert (Order.objects.count(), taken(item), waiting(item)) == (0, 0, 1)
    monkeypatch.setattr(outbox, "TAKE_OVER_IDLE_MS", 0)
    assert intake.drain_once(item_id=item.pk) == 1
    assert (Order.objects.count(), taken(item), waiting(item)) == (1, 1, 0)


def test_an_entry_of_an_unknown_buyer_is_set_aside_and_the_others_pass(
    product: Product, buyer: User, rival: User, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    item = make_item(product)
    ghost = User.objects.create_user("ghost")
    reserve(item, buyer)
    ghost_reservation = reserve(item, ghost)
    reserve(item, rival)
    ghost.delete()

    assert intake.drain_once(item_id=item.pk) == 3

    assert set(Order.objects.values_list("buyer__username", flat=True)) == {"buyer", "rival"}
    assert (taken(item), waiting(item)) == (2, 0)
    ((_, record),) = store.xrange(keys_of(item.pk).dead)
    assert UUID(record[b"reservation"].decode()) == ghost_reservation
    assert b"no such item or buyer" in record[b"error"]
    assert (counters_of(item).left, counters_of(item).held) == (3, 2), "its hold is released"
    assert "outbox_entry_set_aside" in caplog.text


def test_an_account_that_is_deleted_in_the_middle_of_a_batch_waits_for_it_and_stays(
    item: SaleItem, buyer: User
) -> None:
    reserve(item, buyer)
    with in_the_middle(intake, "insert_rows", User.objects.filter(pk=buyer.pk).delete) as deletion:
        assert intake.drain_once(item_id=item.pk) == 1
    assert isinstance(deletion[0].exception(), IntegrityError)
    assert Order.objects.get().buyer == buyer


def test_an_item_that_is_deleted_in_the_middle_of_a_batch_fails_that_batch_once(
    item: SaleItem, buyer: User, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(item, buyer)
    row = SaleItem.objects.filter(pk=item.pk)
    with in_the_middle(intake, "insert_rows", row.delete), pytest.raises(SaleItem.DoesNotExist):
        intake.drain_once(item_id=item.pk)
    monkeypatch.setattr(outbox, "TAKE_OVER_IDLE_MS", 0)
    assert [intake.drain_once(item_id=item.pk) for _ in range(2)] == [1, 0]
    assert (store.xlen(keys_of(item.pk).dead), counters_of(item).left) == (1, 5)


def test_a_malformed_entry_is_set_aside_and_the_others_pass(product: Product, store: Any) -> None:
    item = make_item(product, quantity=None)
    sound = {"reservation": str(uuid4()), "buyer": "1", "units": "1", "reserved_ms": "1", "deadline_ms": "2"}
    changes = [
        {"reservation": "not-a-uuid"},
        {"buyer": "x"},
        {"buyer": "9" * 30},
        *({"units": units} for units in ("-1", "0", "9" * 30)),
        {"reserved_ms": "9" * 40},
    ]
    malformed = [{"nothing": "known"}, *(sound | change for change in changes)]
    for number, fields in enumerate(malformed, start=1):
        store.xadd(keys_of(item.pk).outbox, fields)
        reserve_often(item)
        assert intake.drain_once(item_id=item.pk) == 2, fields
        assert (Order.objects.count(), waiting(item), store.xlen(keys_of(item.pk).dead)) == (number, 0, number), fields


def test_postgresql_refuses_units_that_the_store_gave_out_twice(
    product: Product, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    # Given five units, all of them orders already, and a store that lost them
    item = make_item(product, quantity=5)
    people = new_buyers(8)
    for person in people[:4]:
        reserve(item, person)
    intake.drain_once(item_id=item.pk)
    store.flushdb()
    SaleItem.objects.update(announced_at=None)
    tasks.sweep_outboxes()

    # When the store accepts three more
    for person in people[5:]:
        reserve(item, person)
    intake.drain_once(item_id=item.pk)

    # Then PostgreSQL takes the first and rejects the others, and their holds are released
    assert taken(item) == 5
    assert Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT).count() == 5
    rejected = Order.objects.filter(status=OrderStatus.REJECTED)
    assert rejected.count() == 2
    assert all(order.settled_at for order in rejected)
    assert counters_of(item).held == 1
    assert "oversell_refused_by_database" in caplog.text
    assert waiting(item) == 0


def test_the_schema_itself_refuses_to_oversell(item: SaleItem) -> None:
    with pytest.raises(Exception, match="seckill_saleitem_never_oversold"), transaction.atomic():
        SaleItem.objects.filter(pk=item.pk).update(taken=6)


def test_a_sweep_without_the_store_is_a_warning_and_the_next_one_drains(
    item: SaleItem, buyer: User, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    reserve(item, buyer)
    healthy = store_away(settings)
    assert tasks.sweep_outboxes() == 0
    assert "work_waits" in caplog.text
    settings.CACHES = healthy
    assert tasks.sweep_outboxes() == 1


@pytest.mark.usefixtures("first_number_drawn_twice")
def test_a_short_number_that_is_drawn_twice_is_drawn_again(product: Product) -> None:
    item = make_item(product, quantity=None)
    # A batch of one, and one of two of which the first has the number of an order
    for count in (1, 2):
        reserve_often(item, count)
        assert intake.drain_once(item_id=item.pk) == count
    assert len(set(Order.objects.values_list("code", flat=True))) == 3
    assert set(Order.objects.values_list("status", flat=True)) == {OrderStatus.AWAITING_PAYMENT}
    assert waiting(item) == 0


@pytest.mark.usefixtures("first_number_drawn_twice")
def test_a_lone_order_whose_number_is_drawn_twice_is_not_rejected(product: Product) -> None:
    item = make_item(product, quantity=None)
    first, second = new_buyers(2)
    for buyer in (first, second):
        reserve(item, buyer)
        assert intake.drain_once(item_id=item.pk) == 1
    assert list(Order.objects.values_list("status", flat=True)) == [OrderStatus.AWAITING_PAYMENT] * 2


def test_short_numbers_are_drawn_evenly_from_letters_and_digits_that_nobody_mistakes() -> None:
    draws = 10_000
    with connection.cursor() as cursor:
        cursor.execute("SELECT orders_new_code() FROM generate_series(1, %s)", [draws])
        codes = [code for (code,) in cursor]
    # The same code twice is rare, not impossible.
    assert len(set(codes)) >= draws - 2
    for place in range(CODE_LENGTH):
        counts = Counter(code[place] for code in codes)
        assert sorted(counts) == list("23456789ABCDEFGHJKLMNPQRSTUVWXYZ")
        # About 312 of each, give or take 17: seven times that is chance once in some million million.
        assert all(abs(count - draws / 32) < 7 * 17.4 for count in counts.values()), counts


def test_the_statement_that_inserts_orders_starts_no_query_for_each_short_number() -> None:
    """A function that PostgreSQL cannot write into the statement would be called, and start its query, for each."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (VERBOSE, COSTS OFF) SELECT orders_new_code()")
        plan = "".join(line for (line,) in cursor)
    assert "gen_random_uuid()" in plan
    assert "orders_new_code" not in plan


HOUR = timedelta(hours=1)


def reserve_long_ago(item: SaleItem, buyer: User, *, ago: timedelta = HOUR) -> UUID:
    """A reservation that waited so long: its entry and its hold are as the store would have them by now."""
    reservation_id = reserve(item, buyer)
    keys, store = keys_of(item.pk), get_redis_connection("seckill")
    ((entry_id, fields),) = store.xrange(keys.outbox)
    back_ms = int(ago.total_seconds() * 1000)
    times: dict[Any, Any] = {name: int(fields[name]) - back_ms for name in (b"reserved_ms", b"deadline_ms")}
    store.xdel(keys.outbox, entry_id)
    store.xadd(keys.outbox, {**fields, **times})
    state = f"held:{buyer.pk}:1:{times[b'deadline_ms']}"
    store.hset(keys.holds, str(reservation_id), state)
    return reservation_id


def test_its_buyer_has_time_to_pay(item: SaleItem, buyer: User, as_buyer: Client) -> None:
    reservation_id = reserve_long_ago(item, buyer)
    # So says the page that waits for the order.
    response = as_buyer.get(f"/reservations/{reservation_id}/")
    assert response.status_code == 200
    assert response.context["deadline"] > timezone.now()
    intake.drain_once(item_id=item.pk)
    assert tasks.expire_overdue() == 0
    order = Order.objects.get()
    assert order.expires_at == order.created_at + timedelta(seconds=settings.SECKILL_PAY_SECONDS_MIN)
    assert lifecycle.pay(order_id=order.pk)
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    assert order.settled_at is not None
    assert (counters_of(item).held, counters_of(item).sold) == (0, 1)


def test_the_units_come_back_at_the_deadline_of_the_order(item: SaleItem, buyer: User) -> None:
    """And not earlier: the store's own deadline passed long ago."""
    reserve_long_ago(item, buyer)
    intake.drain_once(item_id=item.pk)
    tasks.forget_ended_holds()
    before = figures(item)
    assert before[1] == before[3] == 1
    Order.objects.update(expires_at=timezone.now())
    assert tasks.expire_overdue() == 1
    assert figures(item)[1:] == (0, 0, 0)


def test_a_hold_with_time_enough_keeps_its_deadline_and_a_short_one_is_given_again(
    item: SaleItem, buyer: User, rival: User
) -> None:
    reserve_long_ago(item, buyer, ago=timedelta(seconds=10))
    intake.drain_once(item_id=item.pk)
    order = Order.objects.get()
    assert order.expires_at == order.reserved_at + timedelta(seconds=item.sale.hold_seconds)
    hold = timedelta(seconds=settings.SECKILL_PAY_SECONDS_MIN // 2)
    short = other_item(hold_seconds=int(hold.total_seconds()))
    reserve_long_ago(short, rival)
    intake.drain_once(item_id=short.pk)
    order = Order.objects.get(buyer=rival)
    assert order.expires_at == order.created_at + hold


def test_the_status_tells_the_deadline_of_the_order(item: SaleItem, buyer: User) -> None:
    reservation_id = reserve_long_ago(item, buyer)
    path, client = f"/api/v1/reservations/{reservation_id}/", signed_in(buyer)
    waiting = client.get(path).json()
    assert waiting["status"] == "reserved"
    assert datetime.fromisoformat(waiting["expires_at"]) > timezone.now()

    intake.drain_once(item_id=item.pk)
    told = datetime.fromisoformat(client.get(path).json()["expires_at"])
    assert to_ms(told) == to_ms(Order.objects.get().expires_at)
    assert told >= datetime.fromisoformat(waiting["expires_at"])
