"""A sale that was over long ago leaves the store, whatever interrupts that, and PostgreSQL has its final figures."""

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any
from unittest import mock

import pytest
from django.core.management import CommandError
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle, settlement
from orders.models import Order, OrderStatus, Payment
from orders.payments import late_money
from orders.payments.late_money import LatePaymentOutcome
from orders.repair import archiving
from orders.repair.archiving import ArchiveOutcome
from orders.repair.audit import Audit, audit
from orders.repair.stock_audit import audit_stock
from seckill import ledger
from seckill.changes.journal import make_change, record_pending
from seckill.changes.rules import CannotChange, ChangeRequest
from seckill.items import archive, item_state
from seckill.ledger_words import Archived
from seckill.live.staff_figures import figures_of
from seckill.models import SaleChange, SaleItem, movable_items
from seckill.store.client import StoreUnreachable
from shop import failpoints
from shop.times.timestamps import to_ms
from tests.processes import wait_until
from tests.steps.at_once import at_once, run_and_close
from tests.steps.buying import buyer_of, new_buyers
from tests.steps.crash import killed_at
from tests.steps.item_journey import ItemJourney
from tests.steps.operating import run_command, waiting_for_locks
from tests.steps.paying import payment_row
from tests.steps.shop import other_item, units_in
from tests.steps.waiting import join

pytestmark = pytest.mark.django_db(transaction=True)

QUANTITY = 20


@pytest.fixture
def journey(journey: ItemJourney) -> ItemJourney:
    """Three of the twenty units are sold, and an order expired; no longer open."""
    archive.archived_item.cache_clear()
    journey.paid(units=2)
    journey.paid()
    journey.expired()
    return journey


def let_days_pass(journey: ItemJourney, days: float = 12) -> None:
    """Let the sale be over, and the item in the store, for that long."""
    item = SaleItem.objects.select_related("sale").get(pk=journey.item_id)
    item.sale.opens_at -= timedelta(days=days)
    item.sale.closes_at = timezone.now() - timedelta(days=days)
    item.sale.save()
    SaleItem.objects.filter(pk=item.pk).update(announced_at=item.sale.opens_at)
    if journey.item():
        times = {"opens_ms": to_ms(item.sale.opens_at), "closes_ms": to_ms(item.sale.closes_at)}
        journey.client.hset(journey.keys.item, mapping=times)


def keys_left(journey: ItemJourney) -> list[bytes]:
    return list(journey.client.keys(f"seckill:{{{journey.item_id}}}:*"))


def is_archived(journey: ItemJourney) -> bool:
    """Whether it is archived, in both stores."""
    marked = SaleItem.objects.filter(pk=journey.item_id, archived_at__isnull=False).exists()
    assert marked == (not keys_left(journey))
    return marked


def archived(journey: ItemJourney) -> None:
    let_days_pass(journey)
    assert tasks.archive_sales() == 1
    assert is_archived(journey)


def test_a_sale_that_was_over_long_ago_leaves_the_store(journey: ItemJourney) -> None:
    assert tasks.archive_sales() == 0
    let_days_pass(journey, days=10.9)
    assert tasks.archive_sales() == 0
    assert not is_archived(journey)
    let_days_pass(journey, days=11.1)
    journey.restart()
    assert tasks.watch_store() == 0
    assert tasks.archive_sales() == 1, "compared, since its store was restarted, and archived"
    assert is_archived(journey)
    assert tasks.archive_sales() == 0


def test_the_time_until_then_is_a_setting(journey: ItemJourney, settings: Any) -> None:
    settings.SECKILL_ARCHIVE_AFTER_SECONDS = 7 * 24 * 3600
    let_days_pass(journey, days=14.9)
    assert tasks.archive_sales() == 0
    let_days_pass(journey, days=15.1)
    assert tasks.archive_sales() == 1


def test_an_archived_sale_reads_as_ended_with_its_final_figures(journey: ItemJourney, client: Client) -> None:
    archived(journey)
    item = SaleItem.objects.select_related("sale").get(pk=journey.item_id)
    live = client.get(f"/api/v1/sale-items/{item.pk}/live/").json()
    assert (live["phase"], live["availability"]) == ("ended", "available")
    assert [live[name] for name in ("quantity", "left", "held", "sold")] == [QUANTITY, QUANTITY - 3, 0, 3]
    page = client.get(item.sale.get_absolute_url()).content.decode()
    assert "3 of 20 sold" in page
    (figures,) = figures_of([item])
    assert (figures.left, figures.held, figures.sold, figures.note) == ("17", "0", "3", "archived")
    # While the store is away too.
    with mock.patch.object(ledger, "read_many", side_effect=StoreUnreachable("away")):
        assert "3 of 20 sold" in client.get(item.sale.get_absolute_url()).content.decode()
    # The status of a reservation comes from its order, and an audit leaves the sale out.
    paid = Order.objects.filter(status=OrderStatus.PAID).latest("pk")
    client.force_login(buyer_of(paid))
    assert client.get(f"/api/v1/reservations/{paid.reservation_id}/").json()["status"] == "paid"
    assert item_state.terms(item_id=journey.item_id) == {}
    assert tasks.audit_sales() == 0
    assert not movable_items().exists()
    with pytest.raises(CommandError, match="sale_rebuild"):
        run_command("sale_audit", str(journey.item_id))


def test_a_unit_that_is_refunded_after_that_goes_to_the_ordinary_stock(journey: ItemJourney) -> None:
    variant = SaleItem.objects.get(pk=journey.item_id).variant
    let_days_pass(journey)
    assert tasks.return_unsold_units() == QUANTITY - 3
    assert tasks.archive_sales() == 1
    (before, *_), order = units_in(variant), Order.objects.filter(status=OrderStatus.PAID, lines__units=2).get()
    assert lifecycle.refund(order_id=order.pk, units_back=True)

    # A sweep takes seconds, so the audit waits for a minute before it finds fault.
    assert not audit_stock().differences
    long_ago = timezone.now() - timedelta(minutes=2)
    Order.objects.update(ended_at=long_ago)
    SaleItem.objects.update(archived_at=long_ago)
    (difference,) = audit_stock().differences
    assert difference.counter == 2

    assert tasks.return_unsold_units() == 2
    assert tasks.return_unsold_units() == 0
    assert units_in(variant)[0] == before + 2
    assert not audit_stock().differences
    item = SaleItem.objects.get(pk=journey.item_id)
    assert (item.quantity, item.taken) == (1, 1)
    assert str(item.changes.order_by("pk").last()) == f"unsold units back to the stock · {item}"
    # And the item can be brought back as it is now.
    run_command("sale_rebuild", str(item.pk))
    assert journey.counters() == ("0", "0", "1")


def test_a_lost_item_is_unavailable_and_does_not_cost_queries_for_each_call(
    journey: ItemJourney, client: Client
) -> None:
    journey.client.flushall()
    with CaptureQueriesContext(connection) as queries:
        for _ in range(10):
            answer = client.get(f"/api/v1/sale-items/{journey.item_id}/live/").json()
    assert (answer["phase"], answer["availability"]) == (None, "unavailable")
    # Whether it is archived, and whether it is published; both twice where a period ends meanwhile.
    assert len(queries) <= 4


def test_units_that_are_held_and_stores_that_disagree_keep_the_sale_in_the_store(journey: ItemJourney) -> None:
    reservation_id = journey.reserved()
    let_days_pass(journey)
    # The reservation becomes an order first.
    assert tasks.archive_sales() == 0
    assert archiving.archive(item_id=journey.item_id) is ArchiveOutcome.REFUSED
    assert not is_archived(journey)
    order = journey.order(reservation_id)
    assert lifecycle.pay(order_id=order.pk)
    paid = Order.objects.filter(pk=order.pk)
    paid.update(status=OrderStatus.CANCELLED)
    assert archiving.archive(item_id=journey.item_id) is ArchiveOutcome.DIFFERS
    assert not is_archived(journey)
    paid.update(status=OrderStatus.PAID)
    assert tasks.archive_sales() == 1


def test_a_broken_item_keeps_no_other_waiting(journey: ItemJourney, caplog: pytest.LogCaptureFixture) -> None:
    others = [ItemJourney(journey.own_store, other_item(name)) for name in ("oolong", "sencha")]
    for each in [journey, *others]:
        let_days_pass(each)
    journey.client.delete(journey.keys.holds)
    journey.client.set(journey.keys.holds, "no hash")
    assert tasks.archive_sales() == 2
    assert [is_archived(each) for each in [journey, *others]] == [False, True, True]
    assert caplog.text.count("'event': 'item_not_archived'") == 1


def test_a_store_that_does_not_answer_and_a_process_that_dies_leave_the_sale_to_the_next_attempt(
    journey: ItemJourney,
) -> None:
    let_days_pass(journey)
    with killed_at("archive.before_store"):
        tasks.archive_sales()
    assert keys_left(journey)
    with mock.patch.object(ledger, "archive", side_effect=StoreUnreachable("timeout")):
        assert tasks.archive_sales() == 0
    # The store has archived it, and PostgreSQL does not know that.
    with killed_at("archive.after_store"):
        tasks.archive_sales()
    assert not SaleItem.objects.filter(archived_at__isnull=False).exists()
    assert not keys_left(journey)
    assert tasks.archive_sales() == 1
    assert is_archived(journey)


@pytest.fixture
def with_line(journey: ItemJourney) -> ItemJourney:
    """Another item, that is sold out and has somebody in its waiting list."""
    item = other_item(quantity=1, waiting_list=True)
    with_line = ItemJourney(journey.own_store, item)
    with_line.paid()
    tasks.hand_on_units()
    (buyer,) = new_buyers(1)
    join(item, buyer)
    let_days_pass(with_line)
    return with_line


def test_a_sale_with_a_waiting_list_leaves_the_store_at_a_later_attempt_too(with_line: ItemJourney) -> None:
    first: list[dict[str, Any]] = [{"return_value": Archived.NOT_OVER}, {"side_effect": StoreUnreachable("away")}]
    for answer in first:
        with mock.patch.object(ledger, "archive", **answer):
            tasks.archive_sales()
        assert not is_archived(with_line), answer
        assert with_line.is_clean(), answer
    # A killed process leaves the list without its item.
    with killed_at("archive.after_store"):
        archiving.archive(item_id=with_line.item_id)
    assert keys_left(with_line)
    assert archiving.archive(item_id=with_line.item_id) is ArchiveOutcome.ARCHIVED
    assert is_archived(with_line)


def test_two_processes_archive_once(journey: ItemJourney) -> None:
    let_days_pass(journey)
    outcomes = at_once([lambda: archiving.archive(item_id=journey.item_id)] * 4)
    assert outcomes.count(ArchiveOutcome.ARCHIVED) == 1
    # One that comes later still, with a list from before.
    assert archiving.archive(item_id=journey.item_id) is ArchiveOutcome.NOT_DUE
    assert is_archived(journey)


def move_end(journey: ItemJourney) -> list[SaleChange]:
    sale_id = SaleItem.objects.values_list("sale_id", flat=True).get(pk=journey.item_id)
    later = timezone.now() + timedelta(hours=1)
    kind = SaleChange.Kind.MOVE_END
    return make_change(kind=kind, reason="once more", made_by=None, sale_id=sale_id, closes_at=later)


def test_a_sale_whose_end_was_moved_or_that_a_change_waits_for_stays(journey: ItemJourney) -> None:
    let_days_pass(journey)
    (change,) = move_end(journey)
    assert change.status == SaleChange.Status.APPLIED
    assert archiving.archive(item_id=journey.item_id) is ArchiveOutcome.NOT_DUE
    assert not is_archived(journey)
    let_days_pass(journey)
    sale_id = SaleItem.objects.values_list("sale_id", flat=True).get(pk=journey.item_id)
    request = ChangeRequest(
        kind=SaleChange.Kind.MOVE_END, reason="later", closes_at=timezone.now() + timedelta(hours=1)
    )
    record_pending(request, made_by=None, sale_id=sale_id)
    assert tasks.archive_sales() == 0
    assert archiving.archive(item_id=journey.item_id) is ArchiveOutcome.NOT_DUE
    assert not is_archived(journey)


def test_a_change_that_comes_while_the_sale_is_archived_is_refused(journey: ItemJourney) -> None:
    let_days_pass(journey)
    reached, go_on = Event(), Event()

    def wait(name: str) -> None:
        if name == "archive.before_store":
            reached.set()
            assert go_on.wait(10)

    with mock.patch.object(failpoints, "reach", wait), ThreadPoolExecutor(2) as pool:
        archiving_result = pool.submit(run_and_close(tasks.archive_sales))
        assert reached.wait(10)
        change = pool.submit(run_and_close(move_end), journey)
        go_on.set()
        assert archiving_result.result() == 1
        with pytest.raises(CannotChange, match="archived"):
            change.result()
    assert is_archived(journey)


def test_an_archived_sale_cannot_be_changed_and_can_be_brought_back(journey: ItemJourney) -> None:
    before = (journey.counters(), set(journey.states().values()))
    archived(journey)
    for kind in (SaleChange.Kind.ADD_UNITS, SaleChange.Kind.UNITS_PER_BUYER):
        with pytest.raises(CannotChange, match="archived"):
            make_change(kind=kind, reason="more", made_by=None, item_id=journey.item_id, units=5)
    with pytest.raises(CannotChange, match="archived"):
        move_end(journey)
    assert not SaleChange.objects.exists()
    assert "brought back from the archive" in run_command("sale_rebuild", str(journey.item_id))
    assert not is_archived(journey)
    assert (journey.counters(), set(journey.states().values())) == before
    assert journey.is_clean()
    assert tasks.archive_sales() == 0, "it stays as long as any other"
    (change,) = move_end(journey)
    assert change.status == SaleChange.Status.APPLIED


def test_a_sale_that_is_archived_while_staff_rebuild_it_is_brought_back(journey: ItemJourney) -> None:
    let_days_pass(journey)
    rebuild: Future[str]

    def audit_while_the_rebuild_waits(**arguments: Any) -> Audit:
        nonlocal rebuild
        rebuild = pool.submit(run_and_close(run_command), "sale_rebuild", str(journey.item_id))
        wait_until(lambda: rebuild.done() or waiting_for_locks() == 1, seconds_max=20)
        return audit(**arguments)

    with mock.patch.object(archiving, "audit", audit_while_the_rebuild_waits), ThreadPoolExecutor(1) as pool:
        assert archiving.archive(item_id=journey.item_id) is ArchiveOutcome.ARCHIVED
        assert "brought back from the archive" in rebuild.result()
    assert SaleItem.objects.filter(pk=journey.item_id, archived_at=None).exists()
    assert journey.is_clean()


def test_a_sale_that_was_brought_back_halfway_is_rebuilt_by_the_sweep(journey: ItemJourney) -> None:
    archived(journey)
    assert tasks.watch_store() == 0
    assert archive.bring_back(item_id=journey.item_id)
    assert not archive.bring_back(item_id=journey.item_id)
    assert tasks.watch_store() == 1
    assert journey.counters() == ("17", "0", "3")
    assert journey.is_clean()


# --- orders of an archived sale ---


def test_a_refund_is_settled_without_the_store_or_by_a_rebuild(journey: ItemJourney) -> None:
    archived(journey)
    order = Order.objects.filter(status=OrderStatus.PAID).earliest("pk")
    assert lifecycle.refund(order_id=order.pk, units_back=True)
    order.refresh_from_db()
    assert (order.status, order.settled_at is not None) == (OrderStatus.REFUND_DUE, True)
    assert settlement.settle_orders() == 0
    assert SaleItem.objects.get(pk=journey.item_id).taken == 1
    assert not keys_left(journey)
    # One that was not settled before a rebuild agrees with it.
    Order.objects.filter(pk=order.pk).update(settled_at=None)
    run_command("sale_rebuild", str(journey.item_id))
    assert settlement.settle_orders() == 1
    assert journey.is_clean()


@pytest.fixture
def late_order(journey: ItemJourney) -> Order:
    """An expired order that is paid after its sale was archived."""
    archived(journey)
    order = Order.objects.get(status=OrderStatus.EXPIRED)
    payment_row(order, Payment.Status.CAPTURED, captured_at=timezone.now(), next_attempt_at=timezone.now())
    return order


def test_a_late_payment_takes_units_that_are_left_in_postgresql(journey: ItemJourney, late_order: Order) -> None:
    assert late_money.settle_late_payment(order_id=late_order.pk) is LatePaymentOutcome.KEPT
    late_order.refresh_from_db()
    assert (late_order.status, late_order.settled_at is not None) == (OrderStatus.PAID, True)
    assert SaleItem.objects.get(pk=journey.item_id).taken == 4
    run_command("sale_rebuild", str(journey.item_id))
    assert journey.counters() == ("16", "0", "4")
    assert journey.is_clean()


def test_a_late_payment_takes_no_units_beyond_the_limit_per_buyer_or_what_is_left(late_order: Order) -> None:
    for others, outcome in ((1, LatePaymentOutcome.KEPT), (2, LatePaymentOutcome.REFUND_STARTED)):
        with transaction.atomic():
            Order.objects.filter(status=OrderStatus.PAID, lines__units=others).update(buyer=late_order.buyer)
            assert late_money.settle_late_payment(order_id=late_order.pk) is outcome, others
            transaction.set_rollback(True)
    SaleItem.objects.update(quantity=3)
    assert late_money.settle_late_payment(order_id=late_order.pk) is LatePaymentOutcome.REFUND_STARTED
    late_order.refresh_from_db()
    assert (late_order.status, late_order.settled_at is not None) == (OrderStatus.REFUND_DUE, True)


def test_a_late_payment_of_a_sale_that_is_just_brought_back_waits(journey: ItemJourney, late_order: Order) -> None:
    def bring_back_first(*args: Any, **kwargs: Any) -> Any:
        archive.bring_back(item_id=journey.item_id)
        return real(*args, **kwargs)

    real = late_money.reclaim_archived
    with mock.patch.object(late_money, "reclaim_archived", bring_back_first):
        outcome = late_money.settle_late_payment(order_id=late_order.pk)
    assert outcome is LatePaymentOutcome.UNAVAILABLE
    run_command("sale_rebuild", str(journey.item_id))
    assert late_money.settle_late_payment(order_id=late_order.pk) is LatePaymentOutcome.KEPT
    assert journey.is_clean()
