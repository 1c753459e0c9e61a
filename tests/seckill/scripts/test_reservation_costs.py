"""What a reservation costs the store: one command, a fixed number of steps, less than 400 bytes."""

from collections import Counter
from collections.abc import Callable

from seckill import outbox, scripts
from tests.seckill.stage import ITEM_ID, Stage

RESERVATIONS = 20_000
BYTES_MAX = 400


def test_a_reservation_is_one_command_and_the_same_steps_however_many_there_are(stage: Stage) -> None:
    stage.publish(quantity=None, per_buyer_max=10)
    stage.guarded = False
    stage.reserve()
    steps_of_first = steps(stage, lambda: stage.reserve())
    assert steps_of_first == {
        "evalsha": 1,
        "info": 1,
        "time": 1,
        "hmget": 1,
        "exists": 3,
        "hget": 2,
        "xadd": 1,
        "hset": 1,
        "hincrby": 3,
    }
    reserve_many(stage, 1000)
    assert steps(stage, lambda: stage.reserve()) == steps_of_first


def test_a_refusal_is_one_command_too(stage: Stage) -> None:
    stage.publish(quantity=1)
    stage.guarded = False
    stage.reserve(buyer=7)
    expected = {"evalsha": 1, "info": 1, "time": 1, "hmget": 1, "exists": 3, "hget": 1}
    assert steps(stage, lambda: stage.reserve(buyer=8)) == expected


def steps(stage: Stage, call: Callable[[], object]) -> dict[str, int]:
    """The commands that the server ran meanwhile, those inside scripts too."""
    before = Counter(stage.store.calls())
    call()
    after = Counter(stage.store.calls())
    return dict(after - before - Counter({"info": 1}))


def test_a_reservation_takes_less_than_400_bytes_until_it_is_drained(
    stage: Stage, record_property: Callable[[str, object], None]
) -> None:
    stage.publish(quantity=RESERVATIONS, per_buyer_max=2)
    empty = memory(stage)
    reserve_many(stage, RESERVATIONS)
    undrained = (memory(stage) - empty) / RESERVATIONS
    while entries := outbox.read_batch(item_id=ITEM_ID, count_max=1000):
        outbox.acknowledge(item_id=ITEM_ID, entry_ids=[entry.id for entry in entries])
    drained = (memory(stage) - empty) / RESERVATIONS
    record_property("bytes_undrained", undrained)
    record_property("bytes_drained", drained)
    print(f"bytes per reservation: {undrained:.0f} in the outbox, {drained:.0f} drained")
    assert drained < undrained < BYTES_MAX


def reserve_many(stage: Stage, count: int) -> None:
    keys = [stage.keys.item, stage.keys.buyers, stage.keys.holds, stage.keys.outbox]
    calls: list[tuple[list[str], list[scripts.Argument]]] = [
        (keys, [str(stage.new_id()), 1_000_000 + number, 1]) for number in range(count)
    ]
    for start in range(0, count, 1000):
        answers = scripts.RESERVE.run_many(stage.client, calls[start : start + 1000])
        assert {answer[0] for answer in answers} == {"reserved"}


def memory(stage: Stage) -> int:
    used: int = stage.client.info("memory")["used_memory"]
    return used
