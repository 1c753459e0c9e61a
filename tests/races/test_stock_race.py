"""Checkouts, staff and sales move the units of two variants at once: nothing is lost, nobody waits in a circle."""

import random
from functools import partial
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum
from django.test import Client

from shop.models import StockChange, Variant
from shop.staff.stock_step import Count, Difference, StockRefused, take
from shop.stock.movements import EFFECTS, NotEnoughUnits, move
from tests.steps.at_once import at_once
from tests.steps.product_page import saved_page
from tests.steps.shop import make_product, units_in, variant_of
from tests.steps.staff import admin_page

pytestmark = pytest.mark.django_db(transaction=True)

Kind = StockChange.Kind
THREADS = 8
UNITS = 100


def test_the_journal_agrees_with_the_counters_after_random_steps_of_many_threads() -> None:
    tea, cup = (
        variant_of(make_product(slug=slug, name=slug, price_minor=100, units=UNITS)).pk for slug in ("tea", "cup")
    )

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(15):
            random_step(chance, (tea, cup))

    at_once([partial(work, seed) for seed in range(THREADS)])
    for variant in Variant.objects.all():
        assert journal_of(variant) == units_in(variant)
        assert links_of(variant)


def test_of_steps_with_one_token_at_once_one_is_taken() -> None:
    tea = variant_of(make_product(slug="tea", name="tea", price_minor=100, units=UNITS))
    token, refused = uuid4(), []

    def send() -> None:
        try:
            take(Difference(5), variant_id=tea.pk, reason="delivery", made_by=None, token=token)
        except StockRefused as refusal:
            refused.append(refusal)

    at_once([send] * THREADS)
    assert len(refused) == THREADS - 1
    assert units_in(tea) == journal_of(tea) == (UNITS + 5, 0, 0)


def test_saving_a_product_while_its_units_move_loses_no_unit(shop_manager: User) -> None:
    """A form writes all columns of a variant, so the row must not change between its reading and its writing."""
    product = make_product(slug="pot", name="Pot", price_minor=9900, units=UNITS)

    def save() -> None:
        client = Client()
        client.force_login(shop_manager)
        for number in range(5):
            page = saved_page(product, price_minor=f"{90 + number}.00")
            assert client.post(admin_page(product), page).status_code == 302

    def buy() -> None:
        for _ in range(UNITS // 2):
            move(kind=Kind.SOLD_LATE, units_of={variant_of(product).pk: 1})

    at_once([save, buy])
    variant = variant_of(product)
    assert units_in(variant) == journal_of(variant) == (UNITS // 2, 0, UNITS // 2)
    assert variant.price_minor == 9400


def random_step(chance: random.Random, variants: tuple[int, int]) -> None:
    """One step of a checkout, a sale or the staff. It may be refused."""
    order = chance.sample(variants, 2)
    kind = chance.choice([Kind.HELD, Kind.RELEASED, Kind.SOLD, Kind.SOLD_LATE, Kind.TO_SALE, Kind.FROM_SALE, None])
    units = chance.randint(1, 4)
    if kind in (Kind.RELEASED, Kind.SOLD):
        # Only what a checkout of this thread has held can leave its hold.
        try:
            move(kind=Kind.HELD, units_of=dict.fromkeys(order, units))
        except NotEnoughUnits:
            return
        move(kind=kind, units_of=dict.fromkeys(order, units))
    elif kind is None:
        steps: list[Count | Difference] = [Difference(chance.randint(1, 9)), Difference(-chance.randint(1, 9))]
        step = chance.choice([*steps, Count(chance.randint(0, 150), seen=None)])
        try:
            take(step, variant_id=order[0], reason="random step", made_by=None)
        except StockRefused:
            return
    else:
        try:
            move(kind=kind, units_of=dict.fromkeys(order, units))
        except NotEnoughUnits:
            return


def journal_of(variant: Variant) -> tuple[int, int, int]:
    """What the counters must be by the sum of all entries."""
    available = held = sold = 0
    for row in StockChange.objects.filter(variant=variant).order_by().values("kind").annotate(moved=Sum("units")):
        if row["kind"] == Kind.COUNTED:
            available += row["moved"]
            continue
        effect = EFFECTS[Kind(row["kind"])]
        available += effect.available * row["moved"]
        held += effect.held * row["moved"]
        sold += effect.sold * row["moved"]
    return available, held, sold


def links_of(variant: Variant) -> bool:
    """Each entry begins where the one before it ended: nothing moved between them unseen."""
    entries = list(StockChange.objects.filter(variant=variant).order_by("pk"))
    return all(
        (later.available_before, later.held_before) == (earlier.available_after, earlier.held_after)
        for earlier, later in zip(entries, entries[1:], strict=False)
    )
