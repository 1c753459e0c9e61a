"""A sale or a single item is paused, with a note for buyers that ends with the pause."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders.repair.reconcile import reconcile
from seckill.changes.journal import make_change, sweep_changes
from seckill.changes.rules import CannotChange
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.publication import announce_pending
from seckill.store.keys import keys_of
from shop.models import Product
from tests.own_store import OwnStore
from tests.steps.buying import told
from tests.steps.crash import killed_at
from tests.steps.shop import make_item, make_product, variant_of
from tests.steps.staff import change, control_form, control_page, employee
from tests.steps.store import counters_of, store_away

pytestmark = pytest.mark.usefixtures("shadow")

Kind = SaleChange.Kind
NOTE = {"en": "Back at 10:15", "zh-hans": "10:15 恢复"}


@pytest.fixture
def other(item: SaleItem) -> SaleItem:
    """Another item of the same sale."""
    cup = variant_of(make_product(slug="cup", name="Cup", price_minor=9900))
    other = SaleItem.objects.create(sale=item.sale, variant=cup, quantity=5, price_minor=1900)
    announce_pending()
    return other


def live(item: SaleItem) -> Any:
    return APIClient().get(f"/api/v1/sale-items/{item.pk}/live/").json()


def page_of(item: SaleItem, *, language: str = "") -> str:
    return Client().get(f"{language}/sales/{item.sale_id}/").content.decode()


def test_one_item_is_paused_and_the_other_sells_on(item: SaleItem, other: SaleItem, buyer: User) -> None:
    entry = change(item, Kind.PAUSE_ITEM, reason="")
    assert (entry.status, item.paused, Sale.objects.get().paused) == ("applied", True, False)
    assert (told(item, buyer), told(other, buyer)) == (Outcome.PAUSED, Outcome.RESERVED)
    assert (live(item)["phase"], live(other)["phase"]) == ("paused", "open")
    with pytest.raises(CannotChange, match="already paused"):
        change(item, Kind.PAUSE_ITEM)
    change(item, Kind.RESUME_ITEM)
    assert not item.paused
    assert told(item, buyer) == Outcome.RESERVED
    with pytest.raises(CannotChange, match="not paused by itself"):
        change(item, Kind.RESUME_ITEM)


def test_an_item_sells_when_neither_it_nor_its_sale_is_paused(item: SaleItem, other: SaleItem, buyer: User) -> None:
    def of_sale(kind: Kind) -> None:
        entries = make_change(kind=kind, sale_id=item.sale_id, reason="x", made_by=None)
        assert [entry.status for entry in entries] == ["applied", "applied"]

    change(item, Kind.PAUSE_ITEM)
    of_sale(Kind.PAUSE)
    of_sale(Kind.RESUME)
    assert (told(item, buyer), told(other, buyer)) == (Outcome.PAUSED, Outcome.RESERVED)
    assert not Sale.objects.get().paused
    of_sale(Kind.PAUSE)
    change(item, Kind.RESUME_ITEM)
    assert not item.paused
    assert told(item, buyer) == Outcome.PAUSED
    of_sale(Kind.RESUME)
    assert told(item, buyer) == Outcome.RESERVED


def test_the_note_is_for_buyers_until_the_pause_ends(item: SaleItem) -> None:
    assert live(item)["pause_note"] is None
    entry = change(item, Kind.PAUSE, public_note=NOTE)
    assert live(item)["pause_note"] == NOTE
    assert "Back at 10:15" in page_of(item)
    assert "10:15 恢复" in page_of(item, language="/zh-hans")
    change(item, Kind.RESUME)
    assert live(item)["pause_note"] is None
    assert "Back at 10:15" not in page_of(item)
    # The journal keeps it, and the next pause does not show it again.
    entry.refresh_from_db()
    assert entry.public_note == NOTE
    change(item, Kind.PAUSE)
    assert live(item)["pause_note"] is None


def test_the_notes_of_a_sale_and_of_an_item_give_way_to_each_other(item: SaleItem, other: SaleItem) -> None:
    change(item, Kind.PAUSE_ITEM, public_note={"en": "A wrong picture"})
    make_change(kind=Kind.PAUSE, sale_id=item.sale_id, reason="", made_by=None, public_note={"en": "A break"})
    assert (live(item)["pause_note"], live(other)["pause_note"]) == ({"en": "A wrong picture"}, {"en": "A break"})
    change(item, Kind.RESUME_ITEM)
    assert live(item)["pause_note"] == {"en": "A break"}
    page = page_of(item)
    assert page.count("A break") == 3  # once above the items, and in the figures of each


def test_a_hostile_note_is_text_and_one_in_one_language_is_shown_in_both(item: SaleItem) -> None:
    change(item, Kind.PAUSE, public_note={"zh-hans": "<script>alert(1)</script>\"'"})
    page = page_of(item)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_note_is_bounded_and_only_a_pause_before_the_end_has_one(item: SaleItem) -> None:
    for note in ({"en": "x" * 121}, {"en": ""}):
        with pytest.raises(CannotChange, match="at most 120"):
            change(item, Kind.PAUSE, public_note=note)
    with pytest.raises(CannotChange, match="Only a pause"):
        change(item, Kind.ADD_UNITS, units=1, public_note=NOTE)
    change(item, Kind.END_NOW)
    with pytest.raises(CannotChange, match="over"):
        change(item, Kind.PAUSE_ITEM)


@pytest.mark.parametrize("moment", ["changes.before_store", "changes.after_store"])
def test_a_note_comes_though_the_process_is_killed(item: SaleItem, moment: str) -> None:
    with killed_at(moment):
        change(item, Kind.PAUSE, public_note=NOTE)
    sweep_changes()
    assert live(item)["pause_note"] == NOTE
    assert SaleChange.objects.get().status == "applied"


def test_a_full_store_pauses_without_the_note(product: Product, settings: LazySettings, own_store: OwnStore) -> None:
    settings.CACHES = {**settings.CACHES, "seckill": {**settings.CACHES["seckill"], "LOCATION": own_store.url}}
    settings.SECKILL_ALLOW_WEAK_DURABILITY = True
    item = make_item(product)
    with own_store.full():
        assert change(item, Kind.PAUSE, public_note=NOTE).status == "applied"
    assert (counters_of(item).state, counters_of(item).pause_note) == ("paused", None)


def test_a_rebuilt_store_has_pause_and_note_again(item: SaleItem, other: SaleItem, store: Any, buyer: User) -> None:
    change(item, Kind.PAUSE_ITEM, public_note=NOTE)
    for each in (item, other):
        store.delete(keys_of(each.pk).item)
        reconcile(item_id=each.pk)
    assert (told(item, buyer), told(other, buyer)) == (Outcome.PAUSED, Outcome.RESERVED)
    assert live(item)["pause_note"] == NOTE


def test_a_damaged_note_hides_nothing(item: SaleItem, store: Any) -> None:
    change(item, Kind.PAUSE, public_note=NOTE)
    for damaged in ("{", "[]", '{"en": 1}', "{}", b"\xff"):
        store.hset(keys_of(item.pk).item, "pause_note", damaged)
        assert (live(item)["phase"], live(item)["pause_note"]) == ("paused", None)


def test_the_page_says_of_a_paused_item_what_postgresql_knows_while_the_store_is_away(
    item: SaleItem, other: SaleItem, settings: LazySettings
) -> None:
    change(item, Kind.PAUSE_ITEM)
    store_away(settings)
    page = page_of(item)
    assert page.count('data-phase="paused"') == 1


def test_staff_write_the_note_in_the_form_of_the_pause(client: Client, item: SaleItem, product: Product) -> None:
    client.force_login(employee("change_sale", "view_sale"))
    form = control_form(reason="", **{"note_en": " Back \n at 10:15 ", "note_zh-hans": ""})
    client.post(control_page(item, Kind.PAUSE_ITEM), form)
    entry = SaleChange.objects.get()
    assert (entry.kind, entry.public_note) == (Kind.PAUSE_ITEM, {"en": "Back at 10:15"})
    too_long = client.post(control_page(item, Kind.PAUSE), control_form(note_en="x" * 121))
    assert "note_en" in too_long.context["form"].errors
    page = client.get(f"/admin/seckill/sale/{item.sale_id}/change/").content.decode()
    assert "paused: “Back at 10:15”" in page
    assert "pause the item, note for buyers: “Back at 10:15”" in page
    assert "Resume this item" in page
