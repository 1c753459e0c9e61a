"""Each step of a purchase does the same work beside 60 and beside 10,000 past reservations: counted, not timed."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bench.measure.growth import verb_costs
from bench.measure.growth.past_reservations import add_past_reservations, add_past_sales, settle_statistics
from bench.measure.speed.part import WrongAnswer
from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Order, OrderStatus
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store, running
from tests.steps.buying import reserve
from tests.steps.shop import make_item, make_product

pytestmark = pytest.mark.django_db(transaction=True)

BATCH = 20
# With three for each buyer, one of them is paid. So in both cases every buyer has units already.
FEW, MANY = 3 * BATCH, 10_000
# Rows that the server reads for itself, such as those of its catalogue, are not counted; a page's more or less may be.
ROWS_TOLERANCE = 100


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with running(tmp_path_factory.mktemp("growth")) as store:
        yield store


@pytest.fixture(autouse=True)
def _on_own_store(own_store: OwnStore) -> Iterator[None]:
    own_store.client.flushall()
    with as_reservation_store(own_store):
        yield


@pytest.fixture
def people(db: None) -> list[User]:
    return User.objects.bulk_create(User(username=f"buyer-{number}", password="!") for number in range(BATCH))


class Work:
    """What PostgreSQL and the store did for one step: statements, rows read, and commands."""

    def __init__(self, own_store: OwnStore, step: Callable[[], object]) -> None:
        commands, rows = Counter(own_store.calls()), rows_read()
        with CaptureQueriesContext(connection) as queries:
            step()
        # INFO asks for this very figure.
        self.commands = dict(Counter(own_store.calls()) - commands - Counter({"info": 1}))
        self.statements = [re.sub(r"\s+", " ", query["sql"])[:40] for query in queries.captured_queries]
        self.rows = rows_read() - rows


def rows_read() -> int:
    """Rows of all tables that were read so far, by scans and through indexes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables")
        return int(cursor.fetchone()[0])


def work_beside(own_store: OwnStore, product: Product, people: list[User], *, past: int) -> dict[str, Work]:
    item = make_item(product, quantity=past + 1_000, per_buyer_max=past + 1_000)
    add_past_reservations(item, count=past, buyer_ids=[person.pk for person in people])
    settle_statistics()
    # What is done once, such as loading scripts.
    reserve(item, people[0])
    intake.drain_once(item_id=item.pk)
    expire_all()
    found = {"reserve": Work(own_store, lambda: reserve(item, people[0]))}
    found["refuse"] = Work(own_store, lambda: refuse(item, people[0]))
    found["live"] = Work(own_store, lambda: ledger.read(item_id=item.pk))
    for person in people[1:]:
        reserve(item, person)
    found["drain"] = Work(own_store, lambda: intake.drain_once(item_id=item.pk))
    assert awaiting_payment().count() == BATCH
    found["expire"] = Work(own_store, expire_all)
    assert not awaiting_payment().exists()
    for sweep in (tasks.sweep_outboxes, tasks.expire_overdue, tasks.settle_orders, tasks.watch_store):
        found[sweep.name] = Work(own_store, sweep)
    assert not audit(item_id=item.pk).comparison.problem_count
    return found


def awaiting_payment() -> QuerySet[Order]:
    return Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT)


def expire_all() -> None:
    awaiting_payment().update(expires_at=Now() - timedelta(seconds=1))
    lifecycle.expire_overdue()


def refuse(item: SaleItem, person: User) -> None:
    reservation_id = passes.new_reservation_id(item.pk)
    answer = ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=person.pk, units=1_000_000)
    assert answer.outcome == "limit_reached"


@pytest.mark.usefixtures("first_number_drawn_twice")
def test_a_short_number_that_another_past_order_has_is_drawn_again(product: Product, people: list[User]) -> None:
    item = make_item(product, quantity=10, per_buyer_max=10)
    add_past_reservations(item, count=5, buyer_ids=[person.pk for person in people])
    assert Order.objects.filter(status__in=(OrderStatus.PAID, OrderStatus.EXPIRED)).count() == 5


def test_past_reservations_of_the_item_and_past_sales_cost_nothing(
    own_store: OwnStore, product: Product, people: list[User]
) -> None:
    few = work_beside(own_store, product, people, past=FEW)
    # The sweeps ask one item each time.
    SaleItem.objects.update(archived_at=timezone.now())
    oolong = make_product(name="oolong", slug="oolong", price_minor=9900, category=product.category)
    many = work_beside(own_store, oolong, people, past=MANY)
    add_past_sales(count=10)
    pu_erh = make_product(name="pu-erh", slug="pu-erh", price_minor=9900, category=product.category)
    beside = work_beside(own_store, pu_erh, people, past=FEW)
    for step in few:
        # HGETALL of the item, HSCAN of its holds: the same number, whatever is in them.
        assert many[step].commands == few[step].commands, step
        assert many[step].statements == few[step].statements, step
        assert many[step].rows <= few[step].rows + ROWS_TOLERANCE, step
        assert len(beside[step].statements) == len(few[step].statements), step


def test_the_command_measures_every_step(own_store: OwnStore, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.measure.growth.verb_costs.CALLS", 250)
    call_command("growth", "--past", "30", "--sales", "2", "--json", str(tmp_path / "growth.json"))
    columns = json.loads((tmp_path / "growth.json").read_text())["microseconds"].values()
    assert all(column["reserve"]["store_us"] > 0 and "audit, each reservation" in column for column in columns)
    # One for each column, and those of the past.
    assert SaleItem.objects.count() == len(columns) + 2


def test_a_step_that_did_not_do_its_work_is_no_measurement(
    item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WrongAnswer, match="reserved instead of limit_reached"):
        verb_costs.reserve(item, buyer.pk, Outcome.LIMIT_REACHED)
    monkeypatch.setattr(verb_costs, "audit", Mock(return_value=Mock(comparison=Mock(problem_count=1))))
    with pytest.raises(WrongAnswer, match="the audit found"):
        verb_costs.check(item)
