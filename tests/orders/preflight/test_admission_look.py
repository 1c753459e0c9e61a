"""The pre-flight of a draw, a waiting room or a waiting list: what these need, and what does not concern them."""

import time
from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone, translation
from pytest_django import Settings

from orders.preflight import load_look
from orders.preflight.admission_look import look_at_admission
from orders.preflight.finding import Finding, Verdict
from orders.preflight.limit_look import look_at_limits
from orders.preflight.rehearsal_verdict import look_at_rehearsal
from orders.tasks import move_waiting_rooms
from seckill.draw.drawing import seed_sha256
from seckill.models import Draw, Sale, SaleItem
from seckill.waiting_room.room_ledger import remove_room
from shop.background.sweep_notes import key_of
from shop.local.ports import free_port
from shop.models import Product
from tests.steps.drawing import drawn, entered, make_draw, opening_passes
from tests.steps.shop import make_item
from tests.steps.waiting_room import joined

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600
SWEEPS = ("carry_out_draws", "move_waiting_rooms", "hand_on_units")


@pytest.fixture(autouse=True)
def _only_sweeps_run(settings: Settings) -> None:
    settings.SHOP_URL = f"http://127.0.0.1:{free_port()}"
    for name in SWEEPS:
        cache.set(key_of(name), (time.time(), 0.0))


@pytest.fixture
def coming_draw(product: Product) -> SaleItem:
    return make_draw(
        product, quantity=3, opens_in_seconds=24 * HOUR, closes_in_seconds=72 * HOUR, hold_seconds=8 * HOUR
    )


def words(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.verdict.value, str(finding.text)) for finding in found]


def worst(found: Iterable[Finding]) -> list[str]:
    """What is not good."""
    return [f"{finding.verdict}: {finding.text}" for finding in found if finding.verdict is not Verdict.GOOD]


def test_a_sale_for_those_who_come_first_says_from_when_buyers_get_passes(item: SaleItem) -> None:
    ((verdict, text),) = words(look_at_admission(item.sale))
    assert verdict == "good"
    assert text.startswith("First come, first served: buyers get passes from ")


def test_a_draw_that_is_well_prepared_is_good_throughout(coming_draw: SaleItem) -> None:
    entered(coming_draw, 2)
    found = words(look_at_admission(coming_draw.sale))
    assert {verdict for verdict, _text in found} == {"good"}
    text = "\n".join(text for _verdict, text in found)
    assert "So far 2 have, for 2 units." in text
    assert seed_sha256(Draw.objects.get().seed)[:16] in text
    # Six times eight hours are 48; at the very end nothing is given any more.
    assert "can go on to the next 5 times" in text
    assert Draw.objects.get().seed not in text


def test_a_draw_needs_time_to_enter_to_pay_and_to_pass_on(product: Product) -> None:
    draft = make_draw(product, published=False, opens_in_seconds=1800, closes_in_seconds=2400, hold_seconds=900)
    found = worst(look_at_admission(draft.sale))
    assert len(found) == 3
    assert "warning: People can enter from the publishing until the opening" in found[0]
    assert "then have 15\xa0minutes to pay" in found[1]
    assert "units that they do not pay for go to nobody" in found[2]


def test_a_draw_that_does_not_come_is_a_stop(coming_draw: SaleItem) -> None:
    entered(coming_draw, 4)
    opening_passes(coming_draw)
    sale = Sale.objects.get()
    assert worst(look_at_admission(sale)) == []
    sale.opens_at = timezone.now() - timedelta(minutes=1)
    assert worst(look_at_admission(sale)) == ["stop: The opening has passed, and the units are not drawn."]
    drawn(coming_draw)
    assert worst(look_at_admission(sale)) == []
    assert "The units were drawn at" in words(look_at_admission(sale))[0][1]
    Draw.objects.all().delete()
    assert "stop: No seed was drawn" in worst(look_at_admission(sale))[0]


@pytest.mark.parametrize("note", [None, (0.0, 0.0), (10.0**10, None)], ids=["never", "long ago", "cache was emptied"])
def test_a_task_that_does_not_run_is_a_stop(product: Product, note: tuple[float, float | None] | None) -> None:
    draw = make_draw(product, opens_in_seconds=24 * HOUR, closes_in_seconds=72 * HOUR, hold_seconds=8 * HOUR)
    room = make_item(Product.objects.get(), opens_in_seconds=99 * HOUR, closes_in_seconds=100 * HOUR, has_room=True)
    Sale.objects.filter(pk=room.sale_id).update(waiting_list=True)
    for name in SWEEPS:
        cache.delete(key_of(name))
        if note:
            cache.set(key_of(name), note)
    sales = draw.sale, Sale.objects.get(pk=room.sale_id)
    of_draw, of_room = ([one for one in look_at_admission(sale) if one.verdict is Verdict.STOP] for sale in sales)
    assert (len(of_draw), len(of_room)) == (1, 2)
    assert all("a worker of the queue expiry" in str(one.todo) for one in of_draw + of_room)


def test_the_waiting_list_of_a_draw_does_nothing(coming_draw: SaleItem) -> None:
    coming_draw.sale.waiting_list = True
    assert worst(look_at_admission(coming_draw.sale)) == [
        "warning: A draw has an order of its own for units that come back. Its waiting list does nothing."
    ]


def test_a_crowd_and_passes_are_no_matter_of_a_draw(coming_draw: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    SaleItem.objects.update(quantity=1_000_000)
    monkeypatch.setattr(load_look, "processes_of", lambda queue: 1)
    _drain, crowd = load_look.look_at_load(coming_draw.sale)
    assert (crowd.verdict, "no crowd is expected" in str(crowd.text)) == (Verdict.GOOD, True)
    ((verdict, text),) = words(look_at_limits(coming_draw.sale))
    assert (verdict, text.startswith("A draw needs no passes")) == ("good", True)


def test_in_a_waiting_room_only_signing_in_comes_in_a_crowd(product: Product, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 0
    settings.SIGN_IN_LIMIT_BY_ADDRESS, settings.PASS_LIMIT_BY_NETWORK = "1000/minute", "1/minute"
    item = make_item(product, quantity=100, opens_in_seconds=HOUR, closes_in_seconds=2 * HOUR, has_room=True)
    ((verdict, text),) = words(look_at_limits(item.sale))
    assert (verdict, "10,000 can sign in in the ten minutes before" in text, "pass" in text) == ("good", True, False)
    settings.SIGN_IN_LIMIT_BY_ADDRESS = "1/minute"
    ((verdict, text),) = words(look_at_limits(item.sale))
    assert (verdict, "of which 10 can sign in in the ten minutes" in text) == ("warning", True)


def test_the_pace_of_a_waiting_room_is_compared_with_its_units(product: Product) -> None:
    item = make_item(product, quantity=100, opens_in_seconds=HOUR, closes_in_seconds=HOUR + 600, published=False)
    sale = item.sale
    sale.admission = Sale.Admission.WAITING_ROOM
    assert "as fast as orders and payments can take" in words(look_at_admission(sale))[0][1]
    sale.pace = 9
    assert worst(look_at_admission(sale)) == [
        "warning: With 9 people a minute, 90 are let in until the end, and there are 100 units."
    ]
    sale.pace = 10
    assert worst(look_at_admission(sale)) == []


def test_the_line_is_there_or_is_missed(product: Product, buyer: User, settings: Settings) -> None:
    far = make_item(product, opens_in_seconds=HOUR, closes_in_seconds=2 * HOUR, has_room=True)
    assert "stop" not in dict(words(look_at_admission(far.sale)))
    settings.SECKILL_PASS_LEAD_SECONDS = 2 * HOUR
    assert any("does not have the waiting room" in text for text in worst(look_at_admission(far.sale)))
    move_waiting_rooms()
    joined(far, buyer)
    assert ("good", "The line is there: 1 people have joined, 0 places are called.") in words(
        look_at_admission(far.sale)
    )
    remove_room(sale_id=far.sale_id)


def test_a_draw_is_not_rehearsed_and_the_line_says_what_to_do_instead(
    coming_draw: SaleItem, settings: Settings
) -> None:
    settings.REHEARSALS = True
    ((verdict, text),) = words(look_at_rehearsal(coming_draw.sale))
    assert (verdict, "duplicate the sale" in text) == ("good", True)
    with translation.override("zh-hans"):
        assert "复制" in words(look_at_rehearsal(coming_draw.sale))[0][1]
    settings.REHEARSALS = False
    assert list(look_at_rehearsal(coming_draw.sale)) == []
