"""A draw as it is carried out: who gets units, who gets what others leave, kills, two sweeps at once, and the mails."""

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client

from orders.account.deletion import delete_account
from orders.life import lifecycle
from orders.models import LineMail, Mail, Order, OrderStatus
from orders.repair.audit import audit
from orders.repair.reconcile import reconcile
from orders.tasks import carry_out_draws, return_unsold_units
from seckill import ledger
from seckill.draw import carrying_out
from seckill.draw.drawing import Entry, draw_entries
from seckill.items import loop
from seckill.models import Draw, DrawEntry, Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.models import Product
from tests.steps.at_once import at_once
from tests.steps.buying import let_deadlines_pass, signed_in, with_address
from tests.steps.crash import killed_at
from tests.steps.drawing import (
    drawn,
    drawn_in_this_order,
    enter,
    entered,
    entry_of,
    in_order,
    make_draw,
    opening_passes,
    statuses,
    swept,
)
from tests.steps.shop import make_product, text_of
from tests.steps.staff import change
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db

Status = DrawEntry.Status


def cancel(*entries: DrawEntry) -> None:
    for entry in entries:
        assert lifecycle.cancel(order_id=Order.objects.get(reservation_id=entry.reservation_id).pk)


def adjust(item: SaleItem, **change: Any) -> None:
    """A change of the item in the store alone."""
    ledger.adjust(item_id=item.pk, operation_id=uuid4(), adjustment=ledger.Adjustment(**change))


def closed(item: SaleItem, count: int) -> None:
    """So many have entered, and nothing is drawn yet."""
    entered(item, count)
    opening_passes(item)
    assert carrying_out.close_entries(sale_id=item.sale_id)


def assert_conserved(item: SaleItem) -> None:
    left, held, sold = left_held_sold(item)
    assert left is not None
    assert left + held + sold == 3
    assert audit(item_id=item.pk, patience_seconds=0).comparison.problem_count == 0


def test_winners_get_orders_with_a_mail_and_all_others_are_next_and_told_so(item: SaleItem) -> None:
    with_address(*entered(item, 5))
    draw = drawn(item)
    assert statuses(item) == ["won"] * 3 + ["not_won"] * 2
    winners = {entry.reservation_id: entry.buyer_id for entry in in_order(item)[:3]}
    orders = Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT)
    assert dict(orders.values_list("reservation_id", "buyer_id")) == winners
    entries = [Entry(item.pk, str(entry.entry_id), 1) for entry in in_order(item)]
    assert [(one.entry_id, one.won) for one in draw_entries(entries, seed=draw.seed, units={item.pk: 3})] == [
        (str(entry.entry_id), bool(entry.won_at_draw)) for entry in in_order(item)
    ]
    won = Mail.objects.filter(kind=Mail.Kind.WON)
    assert {mail.order.reservation_id for mail in won} == winners.keys()
    assert {mail.buyer for mail in LineMail.objects.all()} == {entry.buyer for entry in in_order(item)[3:]}
    # A winner of later gets the mail of a winner.
    cancel(in_order(item)[0])
    swept(item)
    assert (won.all().count(), LineMail.objects.count()) == (4, 2)
    assert_conserved(item)


def test_the_hash_is_public_before_the_seed_and_the_page_and_the_file_name_nobody(
    item: SaleItem, client: Client
) -> None:
    buyers = entered(item, 4)
    path, page = f"/api/v1/sales/{item.sale_id}/draw/", f"/sales/{item.sale_id}/draw/"
    before = client.get(path).json()
    assert (before["stage"], before["entries"], before["seed"], before["entries_sha256"]) == ("open", 4, None, None)
    assert Draw.objects.get().seed not in text_of(client, page)
    opening_passes(item)
    assert carrying_out.close_entries(sale_id=item.sale_id)
    closed = client.get(path).json()
    assert (closed["stage"], closed["seed"], closed["file_url"]) == ("closed", None, None)
    assert len(closed["entries_sha256"]) == 64
    assert client.get(f"{path}file/").status_code == 404
    swept(item)
    after, draw, entries = client.get(path).json(), Draw.objects.get(), in_order(item)
    assert after["seed_sha256"] == before["seed_sha256"]
    assert after["entries_sha256"] == closed["entries_sha256"]
    assert (after["stage"], after["seed"]) == ("drawn", draw.seed)
    # The public page names the winners by their entries alone.
    for text in (text_of(client, page), text_of(client, f"/zh-hans{page}")):
        assert {draw.seed, draw.entries_sha256} <= set(text.replace("<", " ").replace(">", " ").split())
        assert [str(entry.entry_id) in text for entry in entries] == [True] * 3 + [False]
        assert not [buyer.username for buyer in buyers if buyer.username in text]
        assert not [entry for entry in entries if str(entry.reservation_id) in text]
    # The file is cached.
    answer = client.get(f"{path}file/")
    assert [one["place"] for one in json.loads(answer.content)["entries"]] == [1, 2, 3, 4]
    assert answer.content.decode() == draw.file
    assert client.get(f"{path}file/", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert not [entry for entry in entries if str(entry.reservation_id) in draw.file]


def test_units_that_winners_do_not_pay_for_or_give_back_go_to_the_next_until_nobody_is_left(item: SaleItem) -> None:
    entered(item, 6)
    drawn(item)
    cancel(in_order(item)[1])
    paid = Order.objects.get(reservation_id=in_order(item)[0].reservation_id)
    assert lifecycle.pay(order_id=paid.pk)
    swept(item)
    assert statuses(item) == ["won", "passed_on", "won", "won", "not_won", "not_won"]
    assert left_held_sold(item) == (0, 2, 1)
    lifecycle.refund(order_id=paid.pk, units_back=True)
    swept(item)
    assert statuses(item) == ["passed_on"] * 2 + ["won"] * 3 + ["not_won"]
    let_deadlines_pass()
    lifecycle.expire_overdue()
    swept(item)
    assert statuses(item) == ["passed_on"] * 5 + ["won"]
    assert left_held_sold(item) == (2, 1, 0)
    assert_conserved(item)


def test_an_entry_that_was_passed_over_gets_the_units_once_enough_come_back(product: Product) -> None:
    item = make_draw(product, quantity=3, per_buyer_max=3)
    small = entered(item, 3)
    big = entered(item, 1, units=3)
    # Between two of the small ones, as no seed can be chosen.
    with drawn_in_this_order(item, [small[0], *big, *small[1:]]):
        drawn(item)
    assert statuses(item) == ["won", "not_won", "won", "won"]
    cancel(*in_order(item)[2:])
    swept(item)
    assert statuses(item)[1] == "not_won"
    cancel(in_order(item)[0])
    swept(item)
    assert statuses(item) == ["passed_on", "won", "passed_on", "passed_on"]
    assert left_held_sold(item) == (0, 3, 0)


def test_a_sweep_that_is_killed_anywhere_goes_on_where_it_was(item: SaleItem) -> None:
    entered(item, 6)
    opening_passes(item)
    for place in ("before_closed", "before_drawn", "after_drawn", "after_reserve"):
        with killed_at(f"draw.{place}"):
            for _second in range(3):
                carry_out_draws()
    swept(item)
    assert statuses(item) == ["won"] * 3 + ["not_won"] * 3
    cancel(in_order(item)[0])
    with killed_at("draw.before_chosen"):
        carry_out_draws()
    swept(item)
    assert statuses(item) == ["passed_on", "won", "won", "won", "not_won", "not_won"]
    assert left_held_sold(item) == (0, 3, 0)
    assert_conserved(item)


@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_draw_once_and_give_no_unit_twice(product: Product) -> None:
    item = make_draw(product, quantity=3)
    entered(item, 9)
    opening_passes(item)
    for _second in range(3):
        at_once([carrying_out.carry_out_draws] * 4)
    swept(item)
    assert statuses(item) == ["won"] * 3 + ["not_won"] * 6
    cancel(*in_order(item)[:2])
    for _second in range(2):
        at_once([carrying_out.carry_out_draws] * 4)
    swept(item)
    assert statuses(item) == ["passed_on"] * 2 + ["won"] * 3 + ["not_won"] * 4
    assert SaleChange.objects.filter(kind="draw").count() == 1
    assert_conserved(item)


def test_items_of_a_large_draw_have_their_turns_in_several_sweeps(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_draw(make_product(slug="cup", name="Cup", price_minor=9900), quantity=1)
    for each in (item, other):
        closed(each, 1)
    with mock.patch.object(ledger, "reserve", wraps=ledger.reserve) as asked:
        clock = SimpleNamespace(monotonic=lambda: asked.call_count * carrying_out.SECONDS_MAX)
        for module in (loop, carrying_out):
            monkeypatch.setattr(module, "time", clock)
        assert [carry_out_draws() for _ in range(3)] == [1, 1, 0]


def test_units_that_staff_withdraw_first_or_pause_are_given_when_they_come_back(item: SaleItem) -> None:
    closed(item, 4)
    adjust(item, state="paused")
    swept(item)
    assert statuses(item) == ["won", "won", "won", "not_won"]
    assert left_held_sold(item) == (3, 0, 0)
    adjust(item, units=-2)
    adjust(item, state="open")
    swept(item)
    assert [entry.reserved_at is None for entry in in_order(item)] == [False, True, True, True]
    with mock.patch.object(ledger, "reserve", wraps=ledger.reserve) as asked:
        carry_out_draws()
    assert asked.call_count == 1, "nothing is left for any of them"
    adjust(item, units=2)
    swept(item)
    assert [entry.reserved_at is None for entry in in_order(item)] == [False, False, False, True]


def test_units_that_are_too_few_for_a_winner_go_to_the_next_and_do_not_lie_idle(item: SaleItem) -> None:
    first, big, last = entered(item, 1), entered(item, 1, units=2), entered(item, 2)
    change(item, SaleChange.Kind.PAUSE)
    with drawn_in_this_order(item, [*first, *big, *last]):
        drawn(item)
    change(item, SaleChange.Kind.WITHDRAW_UNITS, units=1)
    change(item, SaleChange.Kind.RESUME)
    swept(item)
    assert statuses(item) == ["won", "won", "won", "not_won"]
    assert [entry.reserved_at is None for entry in in_order(item)] == [False, True, False, True]
    client = Client()
    client.force_login(big[0])
    assert "as soon as we can, mostly within seconds" in text_of(client, f"/sales/{item.sale_id}/enter/")
    assert "我们会尽快为您锁定商品" in text_of(client, f"/zh-hans/sales/{item.sale_id}/enter/")
    cancel(in_order(item)[0], in_order(item)[2])
    swept(item)
    assert statuses(item) == ["passed_on", "won", "passed_on", "not_won"]
    assert left_held_sold(item) == (0, 2, 0)


def test_a_blocked_winner_passes_on(item: SaleItem) -> None:
    buyers = entered(item, 4)
    User.objects.filter(pk=buyers[0].pk).update(is_active=False)
    with drawn_in_this_order(item, buyers):
        drawn(item)
    swept(item)
    assert statuses(item) == ["passed_on", "won", "won", "won"]
    assert_conserved(item)


def test_after_the_end_nobody_is_next_and_the_units_return_to_the_stock(item: SaleItem) -> None:
    entered(item, 4)
    drawn(item)
    Sale.objects.update(closes_at=Now())
    adjust(item, closes_ms="now")
    let_deadlines_pass()
    lifecycle.expire_overdue()
    swept(item)
    assert statuses(item) == ["passed_on"] * 3 + ["not_won"]
    assert return_unsold_units() == 3


def test_rows_that_were_changed_between_close_and_draw_are_not_drawn(item: SaleItem) -> None:
    closed(item, 3)
    DrawEntry.objects.filter(pk=DrawEntry.objects.first().pk).update(units=2)  # type: ignore[union-attr]
    with pytest.raises(carrying_out.EntriesChanged):
        carrying_out.draw_now(sale_id=item.sale_id)
    carry_out_draws()
    assert Draw.objects.get().drawn_at is None


def test_an_owner_reads_place_and_reservation(item: SaleItem, buyer: User, rival: User) -> None:
    enter(item, buyer, units=2)
    enter(item, rival, units=2)
    drawn(item)
    for user in (buyer, rival):
        body = signed_in(user).get(f"/api/v1/sale-items/{item.pk}/entries/").json()
        entry = entry_of(item, user)
        won = entry.place == 1
        assert (body["place"], body["status"]) == (entry.place, "won" if won else "not_won")
        assert body["status_url"] == (f"/api/v1/reservations/{entry.reservation_id}/" if won else None)
        if won:
            assert signed_in(user).get(body["status_url"]).json()["status"] == "awaiting_payment"


def test_a_deleted_account_leaves_an_open_draw_and_stays_a_bare_id_in_a_closed_one(item: SaleItem) -> None:
    first, second = entered(item, 2)
    delete_account(first.pk)
    assert [entry.buyer_id for entry in in_order(item)] == [second.pk]
    opening_passes(item)
    carrying_out.close_entries(sale_id=item.sale_id)
    delete_account(second.pk)
    swept(item)
    assert Draw.objects.get().drawn_at is not None
    assert statuses(item) == ["passed_on"]


def test_units_that_the_store_could_not_give_or_has_lost_are_reserved_again_under_the_same_ids(item: SaleItem) -> None:
    entered(item, 3)
    opening_passes(item)
    for outcome in (Outcome.UNAVAILABLE, Outcome.RESERVED):
        with mock.patch.object(ledger, "reserve", return_value=ledger.Reservation(outcome, now_ms=0)):
            swept(item)
        assert statuses(item) == ["won"] * 3
        assert left_held_sold(item) == (3, 0, 0)
    DrawEntry.objects.update(reserved_at=Now() - timedelta(minutes=2))
    swept(item)
    assert left_held_sold(item) == (0, 3, 0)
    orders = Order.objects.values_list("reservation_id", flat=True)
    assert set(orders) == {entry.reservation_id for entry in in_order(item)}


def test_units_that_the_store_lost_before_there_were_orders_go_to_the_same_winners_and_not_to_the_next(
    item: SaleItem, store: Any
) -> None:
    entered(item, 5)
    opening_passes(item)
    for _second in range(2):
        carry_out_draws()
    assert left_held_sold(item) == (0, 3, 0)
    store.flushdb()
    reconcile(item_id=item.pk)
    assert left_held_sold(item) == (3, 0, 0)
    swept(item)
    assert statuses(item) == ["won"] * 3 + ["not_won"] * 2
    assert left_held_sold(item) == (0, 3, 0)
    orders = Order.objects.values_list("reservation_id", flat=True)
    assert set(orders) == {entry.reservation_id for entry in in_order(item)[:3]}
