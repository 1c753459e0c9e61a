"""The rule of a draw: nothing about an entry but its id and the seed tells its place."""

import hashlib
from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from seckill.draw.drawing import Drawn, Entry, differences, draw_entries, draw_item, file_text, renamed, seed_sha256

# The value that the sum exceeds once in ten thousand times, for 99 degrees of freedom.
CHI_SQUARE_99 = 160.1
# With it an entry that asks for three units comes before the last unit is given.
SEED_PASSING_OVER = 5


def seed_of(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def entries(count: int, *, item: int = 1, units: int = 1, name: object = "") -> list[Entry]:
    digests = [hashlib.sha256(f"{name} {number}".encode()).digest()[:16] for number in range(count)]
    return [Entry(item, str(UUID(bytes=digest, version=4)), units) for digest in digests]


def content_of(found: list[Drawn], units: dict[int, int | None]) -> dict[str, Any]:
    seed = seed_of("seed")
    fixed = {"seed_sha256": seed_sha256(seed), "seed": seed, "units": {str(item): n for item, n in units.items()}}
    lines = sorted(f"{one.item} {one.entry_id} {one.units}\n" for one in found)
    entries_hash = hashlib.sha256("".join(lines).encode()).hexdigest()
    return {**fixed, "sale": 1, "entries_sha256": entries_hash, "entries": [renamed(one) for one in found]}


def test_as_many_win_as_there_are_units_and_the_order_of_entering_is_nothing() -> None:
    found = draw_entries(entries(50), seed=seed_of(1), units={1: 20})
    assert [one.place for one in found] == list(range(1, 51))
    assert [one.won for one in found] == [True] * 20 + [False] * 30
    assert draw_entries(reversed(entries(50)), seed=seed_of(1), units={1: 20}) == found


def test_an_entry_that_asks_for_more_than_is_left_is_passed_over() -> None:
    mixed = [entry._replace(units=3 if number % 2 else 1) for number, entry in enumerate(entries(20))]
    found = draw_item(mixed, seed=seed_of(SEED_PASSING_OVER), left=7)
    left = 7
    for one in found:
        assert one.won == (one.units <= left)
        left -= one.units if one.won else 0
    assert left == 0
    big, small = next(one.place for one in found if not one.won), max(one.place for one in found if one.won)
    assert big < small, "this seed passes nobody over; choose another one"


def test_each_item_has_an_order_of_its_own() -> None:
    both = [*entries(5, item=1), *entries(5, item=2, name="other")]
    found = draw_entries(both, seed=seed_of(1), units={1: 2, 2: None})
    assert Counter(one.item for one in found if one.won) == {1: 2, 2: 5}, "without a limit everybody wins"
    assert sorted(one.place for one in found if one.item == 2) == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_in_a_thousand_draws_no_time_of_entering_has_better_places_than_another() -> None:
    """Chi-square over tenths of the order of entering and of the drawn order."""
    count, draws = 100, 1000
    table: Counter[tuple[int, int]] = Counter()
    for number in range(draws):
        entering = entries(count, name=number)
        place_of = {one.entry_id: one.place - 1 for one in draw_item(entering, seed=seed_of(("draw", number)), left=10)}
        table.update((at // 10, place_of[entry.entry_id] // 10) for at, entry in enumerate(entering))
    expected = draws * count / 100
    found = sum((table[row, column] - expected) ** 2 / expected for row in range(10) for column in range(10))
    assert found < CHI_SQUARE_99


def test_a_right_draw_has_no_differences_and_its_file_is_the_same_content() -> None:
    found = draw_entries(entries(9), seed=seed_of("seed"), units={1: 4})
    content = content_of(found, {1: 4})
    assert differences(content) == []
    text = file_text(sale_id=1, seed=seed_of("seed"), units={1: 4}, drawn=found)
    assert eval(text.replace("true", "True").replace("false", "False")) == content
