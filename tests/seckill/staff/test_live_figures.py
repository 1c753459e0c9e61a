"""Staff watch a sale: left, held and sold of the store beside `taken` of PostgreSQL."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store
from tests.steps.shop import goods, make_item, make_product, statements_for
from tests.steps.staff import admin_page, change
from tests.steps.store import store_away

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

LIST = "/admin/seckill/saleitem/"
FIGURES = "/admin/seckill/saleitem/figures/"


@pytest.fixture
def running(running: SaleItem) -> SaleItem:
    """PostgreSQL has an order for one of its units."""
    SaleItem.objects.filter(pk=running.pk).update(taken=1)
    return running


def figures_on(page: str, client: Client, item: SaleItem) -> dict[str, str]:
    """What the page shows in the cells that the script keeps up to date."""
    text = client.get(page).content.decode()
    figures = {}
    for name in ("left", "held", "sold", "taken", "note"):
        cell = text.partition(f'data-item="{item.pk}" data-figure="{name}">')[2]
        figures[name] = cell.partition("<")[0]
    return figures


def test_the_page_of_a_sale_has_what_must_be_found_at_once_before_its_form(client: Client, running: SaleItem) -> None:
    page = client.get(admin_page(running.sale)).content.decode()
    top, form = page[: page.index('id="sale_form"')], page[page.index('id="sale_form"') :]
    assert 'data-live-part="phase"' in top
    assert 'role="timer"' in top
    pause, end = (re.search(rf'class="([^"]*)"[^>]*>\s*{name}', top) for name in ("Pause the sale", "End now"))
    assert pause is not None
    assert end is not None
    assert "button-pause" in pause[1]
    assert "bg-red-600" in end[1]
    # One row for each item, with its picture and its own buttons.
    (row,) = re.findall(r'<li class="[^"]*sale-item .*?</li>', top, re.DOTALL)
    assert "product-picture" in row
    assert "Longjing tea" in row
    assert re.search(r'units-sold" width="20.0".*units-held" x="20.0" width="20.0"', row, re.DOTALL)
    assert 'data-figure="revenue">19.00 CNY<' in row
    assert re.findall(r"control/(\w+)/", row) == ["add_units", "withdraw_units", "units_per_buyer"]
    assert "control/" not in form


def test_the_page_of_a_sale_takes_the_same_statements_for_many_items(client: Client, item: SaleItem) -> None:
    page = admin_page(item.sale)
    for published_at in (item.sale.published_at, None):
        Sale.objects.update(published_at=published_at)
        before = statements_for(client, page)
        for number in range(3):
            variant = goods(f"cup-{number}-{published_at is None}")
            SaleItem.objects.create(sale=item.sale, variant=variant, price_minor=100, quantity=1)
        assert statements_for(client, page) == before
    assert client.get(page).content.decode().count("Cup-") == 6


def test_lists_show_open_sales_first_then_coming_ones(client: Client, product: Product) -> None:
    times = {
        "next week": (600_000, 700_000),
        "over": (-7200, -3600),
        "closes last": (-60, 9000),
        "soon": (60, 7200),
        "closes first": (-7200, 3600),
        "over for long": (-9200, -8200),
    }
    now = timezone.now()
    for number, (name, (opens, closes)) in enumerate(times.items()):
        item = make_item(make_product(slug=f"cup-{number}", name="Cup", price_minor=9900))
        window = {"opens_at": now + timedelta(seconds=opens), "closes_at": now + timedelta(seconds=closes)}
        Sale.objects.filter(pk=item.sale_id).update(name_en=name, **window)
    wanted = ["closes first", "closes last", "soon", "next week", "over", "over for long"]
    assert [sale.name for sale in client.get("/admin/seckill/sale/").context["cl"].result_list] == wanted
    assert [item.sale.name for item in client.get(LIST).context["cl"].result_list] == wanted


def test_the_page_of_a_sale_and_the_list_of_items_show_their_figures(client: Client, running: SaleItem) -> None:
    draft = make_item(make_product(name="Oolong tea", slug="oolong", price_minor=5000), published=False)
    cup = make_item(make_product(name="Cup", slug="cup", price_minor=5000), quantity=None)
    expected = {"left": "3", "held": "1", "sold": "1", "taken": "1", "note": ""}
    assert figures_on(admin_page(running.sale), client, running) == expected
    assert figures_on(LIST, client, running) == expected
    assert figures_on(LIST, client, draft)["note"] == "not published"
    assert figures_on(LIST, client, cup)["left"] == "unlimited"


def test_the_script_gets_the_same_figures(client: Client, running: SaleItem) -> None:
    answer = client.get(FIGURES, [("item", running.pk), ("item", 0), ("item", "x")])
    assert answer.json() == {
        str(running.pk): {
            "left": "3",
            "held": "1",
            "sold": "1",
            "taken": "1",
            "quantity": "5",
            "per_buyer_max": "1",
            "revenue": "19.00 CNY",
            "note": "",
            "sold_percent": 20.0,
            "held_percent": 20.0,
            "state": f"open {running.sale.closes_at.isoformat()}",
        }
    }
    assert "no-store" in answer["Cache-Control"]


def test_the_script_is_told_when_the_phase_or_the_end_of_a_sale_changes(client: Client, product: Product) -> None:
    item = make_item(product, opens_in_seconds=60)

    def state() -> str:
        return str(client.get(FIGURES, {"item": item.pk}).json()[str(item.pk)]["state"])

    def state_on(page: str) -> str:
        cell = client.get(page).content.decode().partition(f'data-item="{item.pk}" data-figure="state">')[2]
        return cell.partition("<")[0]

    assert state().startswith("upcoming ")
    assert state() == state_on(admin_page(item.sale)) == state_on(LIST)
    Sale.objects.update(opens_at=timezone.now())
    assert state().startswith("open ")
    change(item, SaleChange.Kind.PAUSE)
    assert state().startswith("paused ")
    before = state()
    later = timezone.now() + timedelta(days=1)
    change(item, SaleChange.Kind.MOVE_END, closes_at=later)
    assert state() != before


def test_the_figures_of_many_items_are_one_round_trip_and_two_queries_for_the_reader_and_the_items(
    client: Client,
    product: Product,
    own_store: OwnStore,
    settings: Settings,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    settings.SECKILL_ALLOW_WEAK_DURABILITY = True
    products = [make_product(name=f"Tea {n}", slug=f"tea-{n}", price_minor=5000) for n in range(5)]
    # A server counts the calls of everybody.
    with as_reservation_store(own_store):
        items = [make_item(each) for each in products]
        before = own_store.calls().get("time", 0)
        with django_assert_num_queries(2):
            answer = client.get(FIGURES, {"item": [item.pk for item in items]})
        assert len(answer.json()) == 5
        assert own_store.calls()["time"] - before == 1


def test_an_item_that_the_store_does_not_have_is_not_shown_as_sold_out(
    client: Client, item: SaleItem, store: Any
) -> None:
    store.flushdb()
    figures = figures_on(admin_page(item.sale), client, item)
    assert (figures["left"], figures["note"]) == ("–", "not in the reservation store")


def test_with_the_store_down_the_pages_open(client: Client, running: SaleItem, settings: Settings) -> None:
    store_away(settings)
    expected = {"left": "–", "held": "–", "sold": "–", "taken": "1", "note": "reservation store not reachable"}
    assert figures_on(admin_page(running.sale), client, running) == expected
    assert figures_on(LIST, client, running) == expected
    assert client.get(FIGURES, {"item": running.pk}).json()[str(running.pk)].items() >= expected.items()


def test_staff_without_a_permission_see_no_figures_and_nobody_edits_an_item_outside_its_sale(
    client: Client, running: SaleItem
) -> None:
    for address in (f"{LIST}add/", f"{LIST}{running.pk}/delete/", f"{LIST}{running.pk}/change/"):
        assert client.post(address, {"post": "yes", "quantity": 1}).status_code == 403, address
    assert SaleItem.objects.get().quantity == 5
    client.force_login(User.objects.create_user("cook", is_staff=True))
    assert client.get(FIGURES, {"item": running.pk}).status_code == 403
    assert client.get(LIST).status_code == 403


def test_the_lists_show_each_phase_and_filter_by_it(client: Client, db: None) -> None:
    def item_of(phase: str, opens_in_seconds: float, *, published: bool = True) -> SaleItem:
        tea = make_product(slug=f"tea-{phase}-{opens_in_seconds}", name="Tea", price_minor=9900)
        return make_item(tea, opens_in_seconds=opens_in_seconds, published=published)

    sales = {
        "draft": {item_of("draft", 60, published=False).sale_id},
        "upcoming": {item_of("upcoming", 60).sale_id},
        "open": {item_of("open", -60).sale_id},
        "paused": {(early := item_of("paused", 60)).sale_id, (late := item_of("paused", -60)).sale_id},
        "ended": {(over := item_of("ended", -60)).sale_id},
    }
    for paused in (early, late):
        change(paused, SaleChange.Kind.PAUSE)
    Sale.objects.filter(pk=over.sale_id).update(closes_at=timezone.now())
    asked = [("/admin/seckill/sale/", "pk", phase) for phase in sales]
    for page, column, phase in (*asked, (LIST, "sale_id", "paused")):
        found = client.get(page, {"phase": phase})
        assert set(found.context["cl"].queryset.values_list(column, flat=True)) == sales[phase]
        assert phase in found.content.decode().partition('id="result_list"')[2]
