"""Pages of the catalogue come from a replica, which may lag; what a buyer or a sale depends on never does."""

import os
import signal
import time
from collections.abc import Iterator
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, close_old_connections, connections
from django.db.models import QuerySet
from django.test import Client
from rest_framework.test import APIClient
from structlog.testing import capture_logs

from orders.models import OrderLine
from orders.staff.order_table import OrderLineTable
from shop.databases import replica as replica_module
from shop.databases.kept_connections import ANSWER_SECONDS, answers
from shop.databases.replica import ReplicaState, may_lag, reading_alias
from shop.http.problems import is_outage
from shop.models import Category, Product, SearchEntry
from shop.models.search_words import quoted
from shop.search.query import Lexemes
from tests.embedded_servers import temporary_server_directory
from tests.other_database import shop_on
from tests.own_postgres import Pair, running_pair
from tests.steps.shop import make_item, make_product, variant_of

pytestmark = pytest.mark.django_db(transaction=True)

# Of one product, in all the ways in which the catalogue shows it.
PAGES = ("/products/", "/products/longjing/", "/categories/tea/", "/search/?q=longjing")
CALLS = ("/api/v1/products/", "/api/v1/products/longjing/", "/api/v1/products/?search=longjing")


@pytest.fixture(scope="module")
def pair_of_the_file(django_db_setup: None) -> Iterator[Pair]:
    with temporary_server_directory() as directory, running_pair(directory) as pair:
        yield pair


@pytest.fixture
def pair(pair_of_the_file: Pair) -> Pair:
    """Both run, the replica follows, and nothing is for sale."""
    for server in (pair_of_the_file.primary, pair_of_the_file.standby):
        if not server.process.running:
            server.start()
    pair_of_the_file.standby.tell("SELECT pg_wal_replay_resume()")
    pair_of_the_file.primary.tell("TRUNCATE shop_product, shop_category, auth_user, orders_cart CASCADE")
    return pair_of_the_file


@pytest.fixture(autouse=True)
def _fresh_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_module, "replica", ReplicaState())


@pytest.fixture
def product(pair: Pair) -> Iterator[Product]:
    """A product whose name the replica has as it was before."""
    with shop_on(pair.primary.url, replica_url=pair.standby.url):
        category = Category.objects.create(name="Tea", slug="tea")
        product = make_product(name="Longjing old", slug="longjing", price_minor=9900, category=category)
        pair.catch_up()
        pair.standby.tell("SELECT pg_wal_replay_pause()")
        product.name = "Longjing new"
        product.save()
        Category.objects.update(name="Leaves")
        yield product


def name_on(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, path
    text = answer.content.decode()
    found = [name for name in ("Longjing old", "Longjing new") if name in text]
    assert len(found) == 1, (path, found)
    return found[0]


@pytest.mark.usefixtures("product")
def test_the_catalogue_is_as_old_as_the_replica() -> None:
    assert {path: name_on(path) for path in (*PAGES, *CALLS)} == dict.fromkeys((*PAGES, *CALLS), "Longjing old")
    assert Client().get("/api/v1/categories/").json()[0]["name"] == "Tea"
    # A typo is forgiven by the replica too.
    assert name_on("/search/?q=longjimg") == "Longjing old"


def test_sales_carts_and_accounts_are_read_from_the_primary(product: Product) -> None:
    item = make_item(product, opens_in_seconds=-60)
    page = Client().get("/products/longjing/").content.decode()
    assert "Longjing old" in page
    assert "Spring sale" in page
    assert "Longjing new" in Client().get(f"/sales/{item.sale_id}/").content.decode()
    assert "Longjing new" in APIClient().get(f"/api/v1/sales/{item.sale_id}/").content.decode()
    cart = APIClient().put("/api/v1/cart/", {"lines": [{"sku": variant_of(product).sku, "units": 1}]}, format="json")
    assert cart.status_code == 200
    assert "Longjing new" in cart.content.decode()
    # A buyer who has just signed up signs in.
    User.objects.create_user("buyer", password="buyer-password")
    token = APIClient().post("/api/v1/auth/token/", {"username": "buyer", "password": "buyer-password"})
    assert token.status_code == 201


@pytest.mark.usefixtures("product")
def test_a_table_of_orders_is_read_from_the_replica() -> None:
    seen: list[str] = []

    def look(_order_ids: list[int]) -> "QuerySet[OrderLine]":
        seen.append(reading_alias())
        return OrderLine.objects.none()

    with mock.patch("orders.staff.order_table.lines_of", look):
        OrderLineTable().export()
    assert seen == ["replica"]
    assert reading_alias() == "default"


@pytest.mark.usefixtures("product")
def test_without_its_replica_the_shop_reads_from_the_primary_and_says_so_once(pair: Pair) -> None:
    assert name_on("/products/") == "Longjing old"
    pair.standby.kill()
    with capture_logs() as logs:
        for path in (*PAGES, *CALLS):
            assert name_on(path) == "Longjing new"
    assert [line["event"] for line in logs if line["event"].startswith("replica")] == ["replica_away"]
    # It is tried again after a while, and is behind again.
    pair.standby.start()
    pair.standby.tell("SELECT pg_wal_replay_pause()")
    with mock.patch.object(replica_module.replica, "_next_try_s", 0.0), capture_logs() as logs:
        name_on("/products/")
    assert [line["event"] for line in logs if line["event"].startswith("replica")] == ["replica_back"]


def replica_session() -> int:
    with connections["replica"].cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.slow
@pytest.mark.usefixtures("product")
def test_a_replica_that_is_silent_on_a_kept_connection_is_away_after_two_seconds() -> None:
    assert name_on("/products/") == "Longjing old"
    session = replica_session()
    os.kill(session, signal.SIGSTOP)
    try:
        close_old_connections()  # As each request begins.
        began_s = time.monotonic()
        with capture_logs() as logs:
            assert {name_on(path) for path in PAGES} == {"Longjing new"}
        assert time.monotonic() - began_s < 3 * ANSWER_SECONDS
        assert [line["event"] for line in logs if line["event"].startswith("replica")] == ["replica_away"]
    finally:
        os.kill(session, signal.SIGCONT)


@pytest.mark.usefixtures("product")
def test_a_kept_connection_is_tried_once_a_request_and_replaced_where_the_replica_has_ended_it(pair: Pair) -> None:
    assert name_on("/products/") == "Longjing old"
    session = replica_session()
    close_old_connections()
    with mock.patch.object(replica_module, "answers", wraps=answers) as tried:
        assert {name_on(path) for path in PAGES} == {"Longjing old"}
    assert tried.call_count == 1
    assert replica_session() == session
    pair.standby.tell(f"SELECT pg_terminate_backend({session}, 10000)")
    close_old_connections()
    assert name_on("/products/") == "Longjing old"
    assert replica_session() != session


@pytest.mark.usefixtures("product")
def test_a_statement_that_postgresql_finds_too_large_is_no_outage_of_the_replica() -> None:
    @may_lag
    def read() -> bool:
        word = "x" * 3_000
        return SearchEntry.objects.using(reading_alias()).filter(document=Lexemes(quoted(word))).exists()

    with pytest.raises(OperationalError, match="too long") as raised:
        read()
    assert not is_outage(raised.value)
    assert not replica_module.replica.is_away


@pytest.mark.usefixtures("product")
def test_a_statement_that_takes_too_long_is_no_outage_of_the_replica_and_is_not_tried_again() -> None:
    read_from: list[str] = []

    @may_lag
    def read() -> None:
        read_from.append(reading_alias())
        with connections[reading_alias()].cursor() as cursor:
            cursor.execute("SELECT pg_sleep(30)")

    with connections["replica"].cursor() as cursor:
        cursor.execute("SET statement_timeout = '100ms'")
    with pytest.raises(OperationalError, match="statement timeout") as raised:
        read()
    assert read_from == ["replica"]
    assert is_outage(raised.value)
    assert not replica_module.replica.is_away


@pytest.mark.usefixtures("db")
def test_without_a_replica_everything_is_read_from_the_primary() -> None:
    assert may_lag(reading_alias)() == "default"


@pytest.mark.usefixtures("product")
def test_a_fault_of_the_primary_is_not_taken_for_one_of_the_replica(pair: Pair) -> None:
    @may_lag
    def read() -> int:
        assert Product.objects.using(reading_alias()).count() == 1
        return Category.objects.count()

    assert read() == 1
    pair.primary.kill()
    with capture_logs() as logs, pytest.raises(Exception, match="connection|terminat"):
        read()
    assert not [line for line in logs if line["event"] == "replica_away"]
