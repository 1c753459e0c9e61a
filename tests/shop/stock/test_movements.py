"""The ordinary stock: units move all together or not at all, and the journal says the same as the counters."""

import random
from contextlib import suppress
from functools import partial

import pytest

from shop.models import StockChange, Variant
from shop.stock.movements import EFFECTS, NotEnoughUnits, move
from tests.steps.at_once import at_once
from tests.steps.shop import make_product, units_in, variant_of

Kind = StockChange.Kind


@pytest.fixture
def tea(db: None) -> Variant:
    return variant_of(make_product(name="Tea", slug="tea", price_minor=100, units=10))


@pytest.fixture
def cup(db: None) -> Variant:
    return variant_of(make_product(name="Cup", slug="cup", price_minor=100, units=3))


def journal_agrees(variant: Variant) -> bool:
    """Whether the journal's entries, from the first to the last, lead to the present counters."""
    available = held = 0
    for entry in StockChange.objects.filter(variant=variant).order_by("pk"):
        if (entry.available_before, entry.held_before) != (available, held):
            return False
        available, held = entry.available_after, entry.held_after
    return units_in(variant)[:2] == (available, held)


def test_units_go_from_available_to_held_to_sold(tea: Variant) -> None:
    move(kind=Kind.HELD, units_of={tea.pk: 4}, reference="K7M2Q9XT")
    assert units_in(tea) == (6, 4, 0)
    move(kind=Kind.SOLD, units_of={tea.pk: 3}, reference="K7M2Q9XT")
    move(kind=Kind.RELEASED, units_of={tea.pk: 1}, reference="K7M2Q9XT")
    assert units_in(tea) == (7, 0, 3)
    move(kind=Kind.RETURNED, units_of={tea.pk: 2}, reference="K7M2Q9XT")
    assert units_in(tea) == (9, 0, 1)
    assert journal_agrees(tea)
    assert StockChange.objects.filter(variant=tea, reference="K7M2Q9XT").count() == 4


def test_all_lines_move_or_none(tea: Variant, cup: Variant) -> None:
    with pytest.raises(NotEnoughUnits) as refusal:
        move(kind=Kind.HELD, units_of={tea.pk: 2, cup.pk: 4})
    assert refusal.value.available == {cup.pk: 3}
    assert (units_in(tea), units_in(cup)) == ((10, 0, 0), (3, 0, 0))
    assert not StockChange.objects.filter(kind=Kind.HELD).exists()


def test_an_unknown_variant_moves_nothing(tea: Variant) -> None:
    with pytest.raises(Variant.DoesNotExist):
        move(kind=Kind.HELD, units_of={tea.pk: 1, tea.pk + 1_000: 1})
    assert units_in(tea) == (10, 0, 0)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_moves_in_opposite_order_at_once_do_not_wait_for_each_other() -> None:
    variants = [
        variant_of(make_product(name=slug, slug=slug, price_minor=100, units=40)) for slug in ("oolong", "sencha")
    ]

    def buy(order: list[Variant]) -> int:
        """How often it got a unit of each."""
        taken = 0
        for _ in range(15):
            with suppress(NotEnoughUnits):
                move(kind=Kind.HELD, units_of={variant.pk: 1 for variant in order})
                taken += 1
        return taken

    assert sum(at_once([partial(buy, order) for order in (variants, variants[::-1]) * 3])) == 40
    assert [units_in(variant) for variant in variants] == [(0, 40, 0)] * 2
    assert all(journal_agrees(variant) for variant in variants)


@pytest.mark.slow
def test_after_random_steps_the_journal_and_the_counters_agree(tea: Variant, cup: Variant) -> None:
    draw = random.Random(7)
    kinds = [Kind.HELD, Kind.RELEASED, Kind.SOLD, Kind.RETURNED, Kind.CHANGED]
    for _ in range(80):
        units_of = {variant.pk: draw.randint(1, 3) for variant in draw.sample([tea, cup], draw.randint(1, 2))}
        kind = draw.choice(kinds)
        effect, counters = EFFECTS[kind], {variant.pk: units_in(variant) for variant in (tea, cup)}
        is_possible = all(
            effect.held * units + counters[pk][1] >= 0 and effect.sold * units + counters[pk][2] >= 0
            for pk, units in units_of.items()
        )
        if is_possible:
            with suppress(NotEnoughUnits):
                move(kind=kind, units_of=units_of)
    assert journal_agrees(tea)
    assert journal_agrees(cup)
    assert StockChange.objects.filter(variant=tea).count() > 20
