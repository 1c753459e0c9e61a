"""What holds for several scripts alike, whatever befalls the store: lost keys, a backlog, the clock, no room."""

from uuid import UUID

import pytest
from django.test import override_settings

from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import YES, CheckedItem
from tests.seckill.scripts.verbs import CALLS, RESERVING, ready, word

# --- keys that are lost ---


# What others had, and the key that is lost. As many units held as sold do not hide it.
LOSSES = [
    (["held"], "buyers"),
    (["held"], "holds"),
    (["sold"], "buyers"),
    (["sold"], "holds"),
    (["ended"], "holds"),
    (["held", "sold"], "buyers"),
]


@pytest.mark.parametrize(
    ("verb", "had", "lost"),
    [
        *((verb, [], "outbox") for verb in RESERVING),
        *((verb, *loss) for verb in (*RESERVING, "restore") for loss in LOSSES),
    ],
)
def test_an_item_that_lost_a_key_is_unavailable(item: CheckedItem, verb: str, had: list[str], lost: str) -> None:
    ready(item, verb, had)
    known = [UUID(name) for name in item.holds()]
    item.lose(lost)
    for reservation_id in [item.new_id(), *known]:
        assert word(item, verb, reservation_id) == "unavailable"


@pytest.mark.parametrize("verb", RESERVING)
def test_an_item_whose_units_all_came_back_has_no_buyers_and_is_available(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb, ["ended"])
    assert item.buyers() == {}
    assert word(item, verb, hold) == YES[verb]


# --- the backlog, the window, the latest reservations, a full store ---


@pytest.mark.parametrize("verb", ["reserve", "readmit"])
@pytest.mark.parametrize("quantity", [5, None])
def test_a_full_backlog_is_unavailable_and_one_entry_less_is_not(
    item: CheckedItem, verb: str, quantity: int | None
) -> None:
    ready(item, verb, ["held"], quantity=quantity)
    with override_settings(SECKILL_BACKLOG_MAX=2):
        assert word(item, verb) == YES[verb]
        assert word(item, verb) == "unavailable"
        item.drained()
        with item.unguarded():
            assert word(item, verb) == YES[verb]


@pytest.mark.parametrize("verb", ["reserve", "join_line", "hand_on"])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"opens_in_ms": 1}, "not_open"),
        ({"opens_in_ms": 0}, "yes"),
        ({"closes_in_ms": 1}, "yes"),
        ({"closes_in_ms": 0}, "closed"),
    ],
)
def test_a_sale_opens_and_closes_at_the_very_millisecond(
    item: CheckedItem, verb: str, window: dict[str, int], expected: str
) -> None:
    hold = ready(item, verb)
    found = item.at_window(verb, lambda: word(item, verb, hold), **window)
    assert found == (YES[verb] if expected == "yes" else expected)


@pytest.mark.parametrize("verb", RESERVING)
@pytest.mark.parametrize(("number", "listed"), [(63, 201), (64, 128), (65, 201), (127, 201), (192, 128)])
def test_the_list_of_the_latest_is_cut_to_128_at_each_64th_reservation(
    item: CheckedItem, verb: str, number: int, listed: int
) -> None:
    hold = ready(item, verb, ["held"])
    item.lose("latest")
    item.client.rpush(item.keys.latest, *[f"{n}:x" for n in range(200, 0, -1)])
    item.set(reservations=number - 1)
    with item.unguarded():
        assert word(item, verb, hold) == YES[verb]
    assert len(item.latest()) == listed
    assert item.latest()[0][0] == number
    assert item.latest()[1] == (200, "x")


@pytest.mark.parametrize("verb", ["reserve", "readmit", "join_line", "hand_on"])
def test_a_full_store_says_no_to_what_takes_room(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb, ["held"])
    with item.store.full(), pytest.raises(StoreUnreachable, match="maxmemory"):
        word(item, verb, hold)
    assert word(item, verb, hold) == YES[verb]


@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb not in (*RESERVING, "join_line")])
def test_a_full_store_says_yes_to_what_gives_units_back_or_was_paid(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb)
    with item.store.full():
        # There is room for the script.
        item.client.script_flush()
        assert word(item, verb, hold) == YES[verb]
