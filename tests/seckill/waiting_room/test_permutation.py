"""Places are a permutation that only the key decides, and nothing about an arrival tells its place."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from seckill.waiting_room.permutation import arrival_at, place_of

# Larger ones are those of test_many_people.py.
SIZES = [*range(1, 70), 127, 128, 129, 255, 256, 257, 1000, 4096]
# The value that the sum exceeds once in ten thousand times, by its degrees of freedom: 99 and 23.
CHI_SQUARE_99, CHI_SQUARE_23 = 160.1, 56.8


def key_of(name: object) -> bytes:
    return hashlib.sha256(str(name).encode()).digest()


def test_places_have_neither_gaps_nor_doubles() -> None:
    for early in SIZES:
        key = key_of(early)
        places = [place_of(arrival, early=early, key=key) for arrival in range(early)]
        assert sorted(places) == list(range(early)), early
        step = max(early // 500, 1)
        assert all(arrival_at(places[a], early=early, key=key) == a for a in range(0, early, step)), early


def test_later_arrivals_get_the_next_places() -> None:
    assert [place_of(arrival, early=5, key=key_of(1)) for arrival in (5, 6, 1000)] == [5, 6, 1000]
    assert [arrival_at(place, early=5, key=key_of(1)) for place in (5, 6, 1000)] == [5, 6, 1000]


def test_another_key_is_another_order() -> None:
    first, second = ([place_of(a, early=1000, key=key_of(name)) for a in range(1000)] for name in ("a", "b"))
    assert sum(one == other for one, other in zip(first, second, strict=True)) < 20


@pytest.mark.slow
def test_in_a_thousand_openings_no_arrival_has_better_places_than_another() -> None:
    """Chi-square over tenths of arrivals and of places, once by each half of the table and as a whole."""
    early, openings = 100, 1000
    found = Counter(
        (arrival // 10, place_of(arrival, early=early, key=key_of(("opening", number))) // 10)
        for number in range(openings)
        for arrival in range(early)
    )
    expected = openings * early / 100
    squares = [(found[row, column] - expected) ** 2 / expected for row in range(10) for column in range(10)]
    assert sum(squares) < CHI_SQUARE_99


@pytest.mark.slow
def test_among_four_people_all_orders_are_equally_frequent() -> None:
    """A Feistel network over two bits would not reach all of them."""
    openings = 480
    orders = Counter(
        tuple(place_of(arrival, early=4, key=key_of(("four", number))) for arrival in range(4))
        for number in range(openings)
    )
    assert len(orders) == 24
    expected = openings / 24
    assert sum((count - expected) ** 2 / expected for count in orders.values()) < CHI_SQUARE_23


def test_a_program_that_shares_no_code_with_the_shop_finds_the_same_places() -> None:
    """The function that docs/fairness.md gives to anybody."""
    namespace: dict[str, object] = {}
    exec(published_function(), namespace)
    place = namespace["place"]
    key = key_of("published")
    for early in (1, 2, 300, 1000):
        for arrival in (0, early // 2, early - 1, early, early + 7):
            assert place(key.hex(), early, arrival) == place_of(arrival, early=early, key=key) + 1  # type: ignore[operator]


def published_function() -> str:
    text = (Path(__file__).parents[3] / "docs" / "fairness.md").read_text()
    return text.split("```python\n")[1].split("```")[0]
