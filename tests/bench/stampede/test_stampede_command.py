"""`manage.py stampede` alone: what it refuses, and that it finds a broken promise. tests/races/ runs it for real."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from bench import load_buyers
from bench.management.commands import stampede
from bench.stampede import cross_check, setup
from orders.life import intake
from seckill import ledger
from seckill.models import Sale, SaleItem
from seckill.passes.passes import new_reservation_id
from seckill.store.keys import keys_of
from shop.local.ports import free_port
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.store import counters_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_this_machine_has_several_names_and_every_other_address_is_refused() -> None:
    for url in ("http://127.0.0.1:8000/", "http://[::1]:8000", "http://localhost:8000"):
        assert setup.loopback_address(url).base == url.rstrip("/")
    for url in (
        "http://shop.example:8000",
        "http://10.0.0.7:8000",
        "http://localhost.shop.example:8000",
        "http://127.0.0.1@shop.example:8000",
        "http://0.0.0.0:8000",
        "https://127.0.0.1:8000",
        "http://127.0.0.1:99999",
        "127.0.0.1:8000",
        "file:///etc/hosts",
    ):
        with pytest.raises(CommandError, match="not this machine|not the address of a shop"):
            call_command("stampede", "--buyers", "3", "--url", url)
    assert not Sale.objects.exists()


def test_says_that_no_shop_is_there_and_makes_nothing() -> None:
    with pytest.raises(CommandError, match="No shop answers at .*make run"):
        call_command("stampede", "--buyers", "3", "--url", f"http://127.0.0.1:{free_port()}")
    assert not Sale.objects.exists()
    assert not User.objects.exists()


def test_an_item_that_cannot_be_reserved_now_is_refused(product: Product, item: SaleItem, store: Any) -> None:
    def refused(item_id: int, why: str) -> None:
        with pytest.raises(setup.CannotStart, match=why):
            setup.existing_item(item_id)

    refused(404, "no published sale item 404")
    refused(make_item(product, opens_in_seconds=3600, closes_in_seconds=7200).pk, "is not open: upcoming")
    store.hset(keys_of(item.pk).item, "closes_ms", 1)
    refused(item.pk, "is not open: ended")
    store.delete(keys_of(item.pk).item)
    refused(item.pk, "does not know sale item")


def test_a_sale_of_its_own_is_open_and_in_no_list_with_its_stock_spread_evenly(client: Client) -> None:
    items = setup.own_items(stock=50, count=12, units_max=3)
    assert [item.quantity for item in items] == [5] * 2 + [4] * 10
    assert {item.sale for item in items} == {Sale.objects.get()}
    assert all(setup.existing_item(item.pk) == item and item.per_buyer_max == 3 for item in items)
    assert not Product.objects.filter(is_active=True).exists()
    assert client.get("/api/v1/sales/").json() == []
    assert items[0].sale.name not in client.get("/").content.decode()
    # Two do not stand in each other's way, and each item needs a unit.
    assert setup.own_items(stock=1, count=1, units_max=1)
    with pytest.raises(setup.CannotStart, match="too few for 4 items"):
        setup.own_items(stock=3, count=4, units_max=1)
    assert Sale.objects.count() == 2


def test_a_shop_whose_orders_never_arrive_is_found_out_and_what_became_of_each_item(
    live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker runs, so every yes stays in the outbox."""
    monkeypatch.setattr(stampede, "ORDERS_SECONDS_MAX", 0.1)
    monkeypatch.setattr(cross_check, "AGREE_SECONDS_MAX", 0.1)
    file = tmp_path / "verdict.json"
    options = ["--processes", "1", "--connections", "4", "--url", live_server.url, "--json", str(file)]
    with pytest.raises(CommandError, match="5 orders lost"):
        call_command("stampede", "--buyers", "12", "--stock", "5", "--items", "2", *options, stdout=StringIO())
    verdict = json.loads(file.read_text())
    assert not verdict["kept"]
    assert (verdict["item_id"], verdict["quantity"], verdict["left"]) == (None, 5, 0)
    assert (verdict["told_yes"], verdict["persisted"], verdict["lost"]) == (5, 0, 5)
    items = [(one["quantity"], one["buyers"], one["told_yes"], one["lost"]) for one in verdict["items"]]
    assert items == [(3, 6, 3, 3), (2, 6, 2, 2)]


def test_buyers_who_have_units_already_are_passed_over(item: SaleItem) -> None:
    (owner_id,) = load_buyers.load_buyer_ids(count=1)
    ledger.reserve(item_id=item.pk, reservation_id=new_reservation_id(item.pk), buyer_id=owner_id, units=1)
    intake.drain_once(item_id=item.pk)

    assert setup.buyers_with_units(item) == {"load-000001"}
    fresh = load_buyers.load_buyer_ids(count=2, exclude=setup.buyers_with_units(item))
    assert [User.objects.get(pk=pk).username for pk in fresh] == ["load-000002", "load-000003"]


def test_a_shop_with_another_key_is_noticed_before_the_first_call(
    item: SaleItem, buyer: User, live_server: LiveServer, pass_for: Callable[..., str], settings: LazySettings
) -> None:
    address = setup.loopback_address(live_server.url)
    settings.SECRET_KEY, key_of_the_shop = "another key", settings.SECRET_KEY
    foreign = pass_for(buyer, item)
    settings.SECRET_KEY = key_of_the_shop

    with pytest.raises(setup.CannotStart, match="another SECRET_KEY"):
        setup.check_shop(address=address, item_id=item.pk, pass_text=foreign)
    setup.check_shop(address=address, item_id=item.pk, pass_text=pass_for(buyer, item))
    assert counters_of(item).held == 0


def test_more_units_than_a_buyer_may_have_are_refused(item: SaleItem, live_server: LiveServer) -> None:
    with pytest.raises(CommandError, match="A buyer may have 1 of sale item"):
        call_command("stampede", str(item.pk), "--buyers", "3", "--units", "1-3", "--url", live_server.url)


def test_senseless_numbers_are_refused() -> None:
    for words, why in (
        ("--buyers 0", "argument --buyers"),
        ("--buyers -1", "argument --buyers"),
        ("--buyers 3 --units 3-1", "argument --units"),
        ("--buyers 3 --units 0", "argument --units"),
        ("--buyers 3 --processes 99", "argument --processes"),
        ("--buyers 3 --items 0", "argument --items"),
        ("--buyers 3 --items 999", "argument --items"),
        ("1 --buyers 3 --items 2", "Either ITEM or --items"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("stampede", *words.split())
    assert not User.objects.exists()
