"""A change of a running sale is made once: in the journal, in the store and in PostgreSQL."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from seckill import ledger
from seckill.changes.journal import make_change, store_quantity, sweep_changes
from seckill.changes.rules import CannotChange
from seckill.ledger_words import Confirmed
from seckill.models import UNITS_MAX, Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.publication import CannotPublish, announce_pending, publish_sale
from shop.models import Product
from shop.times.timestamps import from_ms, to_ms
from tests.steps.buying import reserve, told
from tests.steps.crash import killed_at
from tests.steps.shop import make_item, make_product, variant_of
from tests.steps.staff import change
from tests.steps.store import counters_of, store_away

Kind = SaleChange.Kind
Status = SaleChange.Status


def test_units_are_added_to_both_stores(item: SaleItem, buyer: User, shop_manager: User) -> None:
    reserve(item, buyer)
    entry = change(item, Kind.ADD_UNITS, units=50, reason=" a second delivery ", made_by=shop_manager)
    assert (entry.status, entry.reason, entry.made_by) == (Status.APPLIED, "a second delivery", shop_manager)
    assert entry.outcome == "adjusted quantity=55 left=54 held=1 sold=0"
    assert entry.finished_at is not None
    assert item.quantity == 55
    assert (counters_of(item).quantity, counters_of(item).left, counters_of(item).held) == (55, 54, 1)


def test_units_are_withdrawn_down_to_what_is_held_and_sold(item: SaleItem, buyer: User, rival: User) -> None:
    reserve(item, buyer)
    bought = reserve(item, rival)
    ledger.confirm(item_id=item.pk, reservation_ids=[bought])

    too_many = change(item, Kind.WITHDRAW_UNITS, units=4)
    assert (too_many.status, item.quantity, counters_of(item).left) == (Status.REFUSED, 5, 3)
    assert too_many.outcome == "too_few_left quantity=5 left=3 held=1 sold=1"

    everything_free = change(item, Kind.WITHDRAW_UNITS, units=3)
    assert (everything_free.status, item.quantity) == (Status.APPLIED, 2)
    assert (counters_of(item).quantity, counters_of(item).left) == (2, 0)


def test_an_open_page_hears_of_another_limit(item: SaleItem, client: Client) -> None:
    change(item, Kind.UNITS_PER_BUYER, units=3)
    assert client.get(f"/api/v1/sale-items/{item.pk}/live/").json()["per_buyer_max"] == 3


def test_a_paused_sale_refuses_buyers_and_a_resumed_one_does_not(item: SaleItem, buyer: User) -> None:
    change(item, Kind.PAUSE)
    assert told(item, buyer) == Outcome.PAUSED
    assert Sale.objects.get().paused
    with pytest.raises(CannotChange, match="already paused"):
        change(item, Kind.PAUSE)
    change(item, Kind.RESUME)
    assert not Sale.objects.get().paused
    assert told(item, buyer) == Outcome.RESERVED
    with pytest.raises(CannotChange, match="not paused"):
        change(item, Kind.RESUME)
    assert SaleChange.objects.count() == 2


def test_a_sale_ends_now_by_the_clock_of_the_store_and_its_holds_are_honoured(item: SaleItem, buyer: User) -> None:
    held = reserve(item, buyer)
    entry = change(item, Kind.END_NOW)
    assert told(item, buyer) == Outcome.CLOSED
    closes_at = Sale.objects.get().closes_at
    assert closes_at == entry.closes_at == from_ms(counters_of(item).closes_ms)
    assert abs(closes_at - timezone.now()) < timedelta(seconds=10)
    assert ledger.confirm(item_id=item.pk, reservation_ids=[held]) == [Confirmed.CONFIRMED]
    with pytest.raises(CannotChange, match="already over"):
        change(item, Kind.END_NOW)
    with pytest.raises(CannotChange, match="already over"):
        change(item, Kind.PAUSE)


def test_an_ended_sale_is_reopened_by_moving_its_end(item: SaleItem, buyer: User) -> None:
    change(item, Kind.END_NOW)
    tomorrow = timezone.now().replace(microsecond=0) + timedelta(days=1)
    change(item, Kind.MOVE_END, closes_at=tomorrow)
    assert Sale.objects.get().closes_at == tomorrow
    assert counters_of(item).closes_ms == to_ms(tomorrow)
    assert told(item, buyer) == Outcome.RESERVED
    change(item, Kind.END_NOW)
    assert Sale.objects.get().closes_at < tomorrow
    assert told(item, buyer) == Outcome.CLOSED


def test_a_change_of_a_sale_is_one_entry_per_item(product: Product) -> None:
    items = sale_of_two(product)
    entries = make_change(kind=Kind.PAUSE, sale_id=items[0].sale_id, reason="a wrong price", made_by=None)
    assert [entry.item_id for entry in entries] == [item.pk for item in items]
    assert {counters_of(item).state for item in items} == {"paused"}
    entries = make_change(kind=Kind.END_NOW, sale_id=items[0].sale_id, reason="a wrong price", made_by=None)
    ends = [from_ms(counters_of(item).closes_ms) for item in items]
    assert [entry.closes_at for entry in entries] == ends
    assert Sale.objects.get().closes_at == max(ends)


def sale_of_two(product: Product) -> list[SaleItem]:
    first = make_item(product, published=False)
    second = make_product(name="Oolong tea", slug="oolong", price_minor=5000)
    SaleItem.objects.create(sale=first.sale, variant=variant_of(second), quantity=7, price_minor=1000)
    items = list(SaleItem.objects.order_by("pk"))
    publish_sale(sale_id=first.sale_id)
    return items


BREAK_A_RULE: list[tuple[Kind, dict[str, Any], str]] = [
    (Kind.ADD_UNITS, {"units": 0}, "at least one"),
    (Kind.ADD_UNITS, {"units": None}, "at least one"),
    (Kind.ADD_UNITS, {"units": UNITS_MAX - 4}, "100000000 units at most"),
    (Kind.WITHDRAW_UNITS, {"units": 5}, "one of the 5 units must remain"),
    (Kind.UNITS_PER_BUYER, {"units": 0}, "at least one"),
    (Kind.UNITS_PER_BUYER, {"units": UNITS_MAX + 1}, "Enter at most 100000000"),
    (Kind.MOVE_END, {"closes_at": None}, "in the future"),
    (Kind.MOVE_END, {"closes_at": timezone.now() - timedelta(seconds=1)}, "in the future"),
    (Kind.END_NOW, {"reason": "  "}, "reason of 1 to 300"),
    (Kind.PAUSE, {"reason": "x" * 301}, "reason of 1 to 300"),
]


def test_a_change_that_breaks_a_rule_is_refused_and_leaves_no_trace(item: SaleItem) -> None:
    before = counters_of(item)
    for kind, more, says in BREAK_A_RULE:
        with pytest.raises(CannotChange, match=says):
            change(item, kind, **more)
    assert not SaleChange.objects.exists()
    item.refresh_from_db()
    assert (item.quantity, item.per_buyer_max, Sale.objects.get().paused) == (5, 1, False)
    after = counters_of(item)
    assert (after.left, after.closes_ms, after.state) == (before.left, before.closes_ms, before.state)


def test_a_draft_an_upcoming_sale_and_an_unlimited_item_have_rules_of_their_own(product: Product) -> None:
    draft = make_item(product, published=False)
    with pytest.raises(CannotChange, match="not published"):
        change(draft, Kind.PAUSE)
    upcoming = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, quantity=None)
    with pytest.raises(CannotChange, match="has not opened yet"):
        change(upcoming, Kind.END_NOW)
    with pytest.raises(CannotChange, match="close after it opens"):
        change(upcoming, Kind.MOVE_END, closes_at=timezone.now() + timedelta(seconds=60))
    with pytest.raises(CannotChange, match="unlimited"):
        change(upcoming, Kind.ADD_UNITS, units=1)
    assert change(upcoming, Kind.PAUSE).status == Status.APPLIED
    SaleItem.objects.filter(pk=upcoming.pk).update(quantity=5, announced_at=None)
    with pytest.raises(CannotChange, match="not in the reservation store yet"):
        change(upcoming, Kind.ADD_UNITS, units=1)


def test_the_end_is_not_moved_into_another_sale_of_the_product(item: SaleItem, product: Product) -> None:
    make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)
    with pytest.raises(CannotChange, match="“Longjing tea” is already in the sale “Spring sale” at that time"):
        change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(seconds=8000))
    assert change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(seconds=7000)).status == Status.APPLIED


def test_a_pending_later_end_keeps_other_sales_out(item: SaleItem, product: Product, settings: Any) -> None:
    draft = make_item(product, opens_in_seconds=20_000, closes_in_seconds=30_000, published=False)
    before = store_away(settings)
    entry = change(item, Kind.MOVE_END, closes_at=timezone.now() + timedelta(seconds=8000))
    assert entry.status == Status.PENDING
    settings.CACHES = before
    Sale.objects.filter(pk=draft.sale_id).update(opens_at=timezone.now() + timedelta(seconds=7200))
    with pytest.raises(CannotPublish, match="already in the sale"):
        publish_sale(sale_id=draft.sale_id)


@pytest.mark.parametrize("place", ["changes.before_store", "changes.after_store"])
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (Kind.ADD_UNITS, {"units": 2}),
        (Kind.WITHDRAW_UNITS, {"units": 2}),
        (Kind.WITHDRAW_UNITS, {"units": 4}),
        (Kind.END_NOW, {}),
    ],
)
def test_a_change_that_was_killed_is_finished_once(
    item: SaleItem, buyer: User, kind: Kind, more: dict[str, Any], place: str
) -> None:
    reserve(item, buyer)
    reserve(item, User.objects.create_user("another"))
    with killed_at(place):
        change(item, kind, **more)
    assert SaleChange.objects.get().status == Status.PENDING
    item.refresh_from_db()
    assert (item.quantity or 0) >= (counters_of(item).quantity or 0)

    assert sweep_changes() == 1
    assert sweep_changes() == 0
    entry = SaleChange.objects.get()
    item.refresh_from_db()
    sale = Sale.objects.get()
    store = counters_of(item)
    assert entry.status == (Status.REFUSED if more.get("units") == 4 else Status.APPLIED)
    assert item.quantity == store.quantity == (store.left or 0) + store.held + store.sold
    assert item.quantity == {Kind.ADD_UNITS: 7, Kind.WITHDRAW_UNITS: 3}.get(kind, 5) + (
        2 if more == {"units": 4} else 0
    )
    assert (item.per_buyer_max, sale.paused) == (store.per_buyer_max, store.state == "paused")
    assert to_ms(sale.closes_at) == store.closes_ms


def test_without_a_store_changes_wait_in_their_order_and_are_applied_once(item: SaleItem, settings: Any) -> None:
    before = store_away(settings)
    assert change(item, Kind.ADD_UNITS, units=50).status == Status.PENDING
    assert change(item, Kind.WITHDRAW_UNITS, units=54).status == Status.PENDING
    assert change(item, Kind.PAUSE).status == Status.PENDING
    # Pending changes count: a second pause is refused, and resuming is possible.
    with pytest.raises(CannotChange, match="already paused"):
        change(item, Kind.PAUSE)
    assert (item.quantity, Sale.objects.get().paused) == (55, False)
    assert store_quantity(item_id=item.pk) == 5
    assert sweep_changes() == 0

    settings.CACHES = before
    assert sweep_changes() == 3
    assert sweep_changes() == 0
    item.refresh_from_db()
    assert (item.quantity, counters_of(item).quantity, counters_of(item).left) == (1, 1, 1)
    assert (Sale.objects.get().paused, counters_of(item).state) == (True, "paused")
    assert store_quantity(item_id=item.pk) == 1


@pytest.mark.parametrize(
    ("kinds", "word"),
    [
        ([Kind.PAUSE], Outcome.PAUSED),
        ([Kind.PAUSE_ITEM], Outcome.PAUSED),
        ([Kind.END_NOW], Outcome.CLOSED),
        ([Kind.PAUSE, Kind.RESUME], Outcome.RESERVED),
    ],
)
def test_a_sale_that_was_stopped_before_its_announcement_sells_nothing(
    product: Product, buyer: User, kinds: list[Kind], word: Outcome
) -> None:
    item = make_item(product, published=False)
    with killed_at("publication.after_commit"):
        publish_sale(sale_id=item.sale_id)
    assert [change(item, kind).status for kind in kinds] == [Status.PENDING] * len(kinds)
    assert announce_pending() == 1
    assert told(item, buyer) == word
    assert sweep_changes() == len(kinds)
    assert told(item, buyer) == (Outcome.LIMIT_REACHED if word == Outcome.RESERVED else word)
    assert to_ms(Sale.objects.get().closes_at) == counters_of(item).closes_ms


def test_a_pause_that_is_applied_late_does_not_undo_later_changes(product: Product, store: Any) -> None:
    early, late = sale_of_two(product)
    key = f"seckill:{{{late.pk}}}:item"
    incarnation = store.hget(key, "incarnation")
    store.hdel(key, "incarnation")
    for kind in (Kind.PAUSE, Kind.RESUME):
        entries = make_change(kind=kind, sale_id=early.sale_id, reason="because", made_by=None)
        assert [entry.status for entry in entries] == [Status.APPLIED, Status.PENDING]
    store.hset(key, "incarnation", incarnation)
    assert sweep_changes() == 2
    assert counters_of(late).state == "open"
    assert not Sale.objects.get().paused


def test_with_nothing_to_do_the_sweep_is_one_query(item: SaleItem, django_assert_num_queries: Any) -> None:
    change(item, Kind.PAUSE)
    with django_assert_num_queries(1):
        assert sweep_changes() == 0
