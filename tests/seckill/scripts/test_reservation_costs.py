"""What a reservation costs the store: one command, a fixed number of steps, less than 400 bytes."""

from collections import Counter
from collections.abc import Callable

from seckill.outbox import outbox
from seckill.store import scripts
from tests.seckill.checked_item import ITEM_ID, CheckedItem

RESERVATIONS = 5_000
BYTES_MAX = 400


def test_a_reservation_is_one_command_and_the_same_steps_however_many_there_are(item: CheckedItem) -> None:
    item.publish(quantity=None, per_buyer_max=10)
    item.guarded = False
    item.reserve()
    steps_of_first = steps(item, lambda: item.reserve())
    assert steps_of_first == {
        "evalsha": 1,
        "info": 1,
        "time": 1,
        "hmget": 1,
        "exists": 1,
        "hget": 2,
        "xlen": 1,
        "xadd": 1,
        "hset": 3,
        "lpush": 1,
    }
    reserve_many(item, 1000)
    assert steps(item, lambda: item.reserve()) == steps_of_first


def test_a_refusal_is_one_command_too(item: CheckedItem) -> None:
    item.publish(quantity=1)
    item.guarded = False
    item.reserve(buyer=7)
    expected = {"evalsha": 1, "info": 1, "time": 1, "hmget": 1, "exists": 1, "hget": 1}
    assert steps(item, lambda: item.reserve(buyer=8)) == expected


def steps(item: CheckedItem, call: Callable[[], object]) -> dict[str, int]:
    """The commands that the server ran meanwhile, those inside scripts too."""
    before = Counter(item.store.calls())
    call()
    after = Counter(item.store.calls())
    return dict(after - before - Counter({"info": 1}))


def test_a_reservation_takes_less_than_400_bytes_until_it_is_drained(item: CheckedItem) -> None:
    item.publish(quantity=RESERVATIONS, per_buyer_max=2)
    empty = memory(item)
    reserve_many(item, RESERVATIONS)
    undrained = (memory(item) - empty) / RESERVATIONS
    while entries := outbox.read_batch(item_id=ITEM_ID, count_max=1000):
        outbox.acknowledge(item_id=ITEM_ID, entry_ids=[entry.id for entry in entries])
    drained = (memory(item) - empty) / RESERVATIONS
    assert drained < undrained < BYTES_MAX


def reserve_many(item: CheckedItem, count: int) -> None:
    keys = [getattr(item.keys, name) for name in ("item", "buyers", "holds", "outbox", "latest")]
    calls: list[tuple[list[str], list[scripts.Argument]]] = [
        (keys, [str(item.new_id()), 1_000_000 + number, 1, 10**9]) for number in range(count)
    ]
    for start in range(0, count, 1000):
        answers = scripts.RESERVE.run_many(item.client, calls[start : start + 1000])
        assert {answer[0] for answer in answers} == {"reserved"}


def memory(item: CheckedItem) -> int:
    used: int = item.client.info("memory")["used_memory"]
    return used
