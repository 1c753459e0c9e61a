"""The first page of the admin: what it shows, to whom, at what cost, and while servers are away."""

import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from orders.models import Attention, Order, OrderStatus
from orders.preflight.finding import stop
from orders.repair.audit import RESULT_KEY, remember_result
from seckill import ledger
from seckill.models import Sale, SaleItem
from shop.background import sweep_notes
from shop.models import Product
from tests.steps.buying import make_orders
from tests.steps.shop import goods, make_item, make_product, other_item, server_away
from tests.steps.staff import employee, was_checked
from web.home import day_sums, home_blocks, home_figures, home_page
from web.home.home_figures import Home

pytestmark = pytest.mark.django_db(transaction=True)

HOME = "/admin/"
PARTS = "/board/home/"
SALES, ORDERS, STOCK = "Running and coming sales", "Orders and revenue", "Low stock"


@pytest.fixture(autouse=True)
def _always_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_figures, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr("web.board.source.REST_SECONDS_MAX", 0.0)
    monkeypatch.setattr(home_page, "home", Home())


def token_in(page: str) -> str:
    found = re.search(r'data-token="([^"]+)"', page)
    assert found
    return found[1]


def parts(client: Client, token: str) -> Any:
    return client.get(PARTS, headers={"Authorization": f"Home {token}"})


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def placed(days_ago: int, count: int, *, item: SaleItem, buyer: User, **fields: Any) -> None:
    """Orders of an earlier day, at noon."""
    pks = [order.pk for order in make_orders(count, buyer=buyer, item=item)]
    noon = timezone.localtime().replace(hour=12, minute=0) - timedelta(days=days_ago)
    Order.objects.filter(pk__in=pks).update(created_at=noon if days_ago else timezone.now(), **fields)


def test_it_shows_sales_orders_stock_and_what_is_to_be_done(
    as_manager: Client, running: SaleItem, product: Product, buyer: User
) -> None:
    coming = make_item(make_product(slug="cup", name="Cup", price_minor=9900), opens_in_seconds=1800)
    for sale in (coming.sale, running.sale):
        was_checked(sale, stop("The mail server does not answer.", "Mend it."))
    ended, hour = make_item(goods("mooncake", units=1000, price_minor=9900).product).sale, timedelta(hours=1)
    Sale.objects.filter(pk=ended.pk).update(opens_at=timezone.now() - 2 * hour, closes_at=timezone.now() - hour)
    goods("rare", units=2)
    goods("gone", units=2)
    Product.objects.filter(slug="gone").update(is_active=False)
    placed(0, 2, item=running, buyer=buyer)
    placed(0, 1, item=running, buyer=buyer, currency="EUR")
    placed(3, 1, item=running, buyer=buyer, refunded_minor=900, attention=Attention.REFUND_FAILS)
    placed(3, 1, item=running, buyer=buyer, status=OrderStatus.REFUNDED)
    placed(30, 5, item=running, buyer=buyer)
    page = as_manager.get(HOME)
    words = words_of(page.text)
    first, second = page.context["sales"]["lines"]
    assert (first.sale, first.units, first.sold_percent, first.held_percent) == (
        running.sale,
        "sold 1 · held 1 · left 3",
        20,
        20,
    )
    assert (first.verdict, first.board_url) == ("", reverse("board", args=[running.sale_id]))
    assert (second.sale, second.verdict, second.is_ready) == (coming.sale, "Not ready: 1 stop to mend.", False)
    assert "Orders today 3 Paid today 3 Revenue today 38.00 CNY" in words
    days = page.context["sums"]["days"]
    assert [(day["orders"], day["paid"], day["revenue"]) for day in days if day["orders"]] == [
        (3, 3, "38.00 CNY"),
        (2, 1, "10.00 CNY"),
    ]
    assert len(days) == 14
    assert "1 Orders that need attention" in words
    assert [variant.sku for variant, _url in page.context["low"]["lines"]] == ["SKU-rare"]
    assert {line.name: line.is_well for line in page.context["health"]}.items() >= {
        ("PostgreSQL", True),
        ("Reservation store", True),
        ("Cache", True),
        ("Workers and beat", True),
        # None was made yet, and none is late.
        ("Audit of both stores", True),
    }


def test_a_verdict_on_a_draft_ends_with_a_change_of_it(as_manager: Client, product: Product) -> None:
    draft = make_item(product, opens_in_seconds=1800, published=False)
    was_checked(draft.sale)
    assert as_manager.get(HOME).context["sales"]["lines"][0].verdict == "Ready."
    SaleItem.objects.update(quantity=50_000)
    page = as_manager.get(HOME)
    assert "<p>Not checked yet." in re.sub(r">\s+", ">", page.text)
    (line,) = page.context["sales"]["lines"]
    assert (line.verdict, line.is_ready, line.looked_at) == ("Not checked yet.", False, None)
    assert line.board_url == ""


def test_lists_and_counts_end_and_units_without_a_limit_have_no_percents(
    as_manager: Client, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (home_blocks, home_figures):
        monkeypatch.setattr(module, "SALES_MAX", 1)
        monkeypatch.setattr(module, "LOW_MAX", 1)
    goods("rare", units=2)
    goods("scarce", units=2)
    unlimited = other_item(quantity=None)
    context = as_manager.get(HOME).context
    for part in ("sales", "low"):
        assert (len(context[part]["lines"]), context[part]["more"]) == (1, True), part
    counters = ledger.read_many(item_ids=[item.pk, unlimited.pk])
    said = ("sold 0 · held 0 · left unlimited", None, None)
    assert home_blocks.units_of([item, unlimited], counters) == said
    del counters[unlimited.pk]
    assert home_blocks.units_of([item, unlimited], counters) == ("Units not known", None, None)
    assert [home_blocks.bounded(count) for count in (99, 100)] == ["99", "99+"]


def test_each_part_is_for_those_who_may_see_what_it_shows(client: Client, item: SaleItem, buyer: User) -> None:
    placed(0, 1, item=item, buyer=buyer, attention=Attention.REFUND_FAILS)
    person = employee()
    client.force_login(person)
    for right, shown in {
        "view_sale": {SALES, "Health"},
        "change_sale": {SALES, "Health"},
        "view_order": {ORDERS},
        "view_variant": {STOCK},
        "view_category": set[str](),
    }.items():
        person.user_permissions.set(Permission.objects.filter(codename=right))
        answer = client.get(HOME)
        page = answer.text
        known = {"sales": SALES, "health": "Health", "sums": ORDERS, "low": STOCK}
        assert {words for name, words in known.items() if name in answer.context} == shown, right
        to_do = ["Orders that need attention"] if ORDERS in shown else []
        assert [line.text for line in answer.context.get("to_do", ())] == to_do, right
        texts = [page, parts(Client(), token_in(page)).text] if shown else [page]
        for text in texts:
            assert {words for words in (SALES, ORDERS, STOCK, "Health") if f">{words}</h2>" in text} == shown, right
        assert ("data-parts" in page) == bool(shown)


def test_its_parts_are_for_an_hour_and_in_the_language_of_the_page(
    as_manager: Client, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_manager.cookies["django_language"] = "zh-hans"
    token = token_in(as_manager.get(HOME).text)
    assert "春季秒杀" in parts(Client(), token).text
    assert parts(as_manager, "").status_code == parts(as_manager, token[:-1]).status_code == 403
    monkeypatch.setattr(home_page, "TOKEN_SECONDS", -1)
    assert parts(as_manager, token).status_code == 403


def test_it_takes_the_same_statements_for_many_rows(
    as_manager: Client,
    item: SaleItem,
    buyer: User,
    django_assert_num_queries: DjangoAssertNumQueries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the threads: the request itself asks for the reader, and counts for the sidebar."""

    def read() -> None:
        home_figures.read_rows()
        day_sums.DaySums().read()

    # Sales, items, low stock, six counts, and each of fourteen days.
    with django_assert_num_queries(23):
        read()
    for number in range(5):
        make_item(make_product(slug=f"cup-{number}", name="Cup", price_minor=9900, units=7), quantity=5)
        placed(number, 3, item=item, buyer=buyer, attention=Attention.REFUND_FAILS)
    with django_assert_num_queries(23):
        read()
    token = token_in(as_manager.get(HOME).text)
    with django_assert_num_queries(0):
        assert parts(as_manager, token).status_code == 200
    # And all who look at it share them for a while.
    monkeypatch.setattr(home_figures, "FRESH_SECONDS", 60.0)
    home = Home()
    assert home.known() is home.known()


@pytest.mark.parametrize("bound", ["TODAY_KEPT_SECONDS_MAX", "TODAY_KEPT_TIMES"])
def test_past_days_are_summed_once_an_hour_and_today_at_once_while_that_is_cheap(
    item: SaleItem,
    buyer: User,
    django_assert_num_queries: DjangoAssertNumQueries,
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
) -> None:
    monkeypatch.setattr(day_sums, bound, 0)
    sums = day_sums.DaySums()
    sums.read()
    placed(0, 1, item=item, buyer=buyer)
    with django_assert_num_queries(1):
        assert sums.read()[-1].orders == 1


def test_while_a_server_is_away_an_open_page_shows_what_is_known(
    as_manager: Client, running: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = token_in(as_manager.get(HOME).text)
    assert "Orders today 0 Paid today 0" in words_of(parts(Client(), token).text)
    for name in ("cache", "reservation_store", "database"):
        with server_away(name):
            during = parts(Client(), token).text
        assert "does not answer" in words_of(during), name
        assert "Spring sale" in during, name
        assert "sold 1 · held 1 · left 3" in during, name
        parts(Client(), token)
    # A process that has not asked yet does not know: orders that nobody has summed up are not none.
    for name, unknown in (
        ("database", "Orders today – Paid today – Revenue today –"),
        ("reservation_store", "Units not known"),
    ):
        monkeypatch.setattr(home_page, "home", Home())
        with server_away(name):
            assert unknown in words_of(parts(Client(), token).text), name


def health(client: Client) -> dict[str, tuple[bool, str]]:
    return {line.name: (line.is_well, line.text) for line in client.get(HOME).context["health"]}


def test_an_audit_that_found_something_or_was_long_ago_and_a_late_queue_are_shown(as_manager: Client) -> None:
    remember_result(problems_of_item={1: 2, 2: 1})
    assert health(as_manager)["Audit of both stores"] == (False, "3 differences were found")
    cache.set(RESULT_KEY, {"at_s": time.time() - 300, "problems_of_item": {1: 0}})
    assert health(as_manager)["Audit of both stores"] == (False, "no differences 5 minutes ago")
    # It comes every minute, so this is not late yet.
    cache.set(sweep_notes.key_of("audit_sales"), (time.time() - 200, 0.0))
    assert health(as_manager)["Workers and beat"][0]
    cache.set(sweep_notes.key_of("settle_orders"), (time.time() - 200, 0.0))
    assert health(as_manager)["Workers and beat"] == (False, "late in these queues: expiry. Look at their workers.")


def test_work_that_is_not_done_in_time_is_shown(as_manager: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_figures, "LATE_SECONDS", -1_000_000.0)
    words = words_of(as_manager.get(HOME).text)
    assert "look at beat and at the workers" in words
    assert "none was made yet, though beat asks for one every minute" in words
