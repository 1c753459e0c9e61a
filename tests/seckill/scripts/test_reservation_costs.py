"""What a reservation costs the store: one command, a fixed number of steps, less than 400 bytes.

The times that it prints (`make test PROCESSES=0 ARGS="-s tests/seckill/scripts/test_reservation_costs.py"`) decide no
test. To compare two versions in turns, name the file of the other one in RESERVE_LUA.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

from seckill.outbox import outbox
from seckill.outcomes import Outcome
from seckill.store import scripts
from tests.seckill.checked_item import ITEM_ID, CheckedItem

RESERVATIONS = 20_000
BYTES_MAX = 400


def test_a_reservation_is_one_command_and_the_same_steps_however_many_there_are(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None, per_buyer_max=10)
    checked_item.guarded = False
    checked_item.reserve()
    steps_of_first = steps(checked_item, lambda: checked_item.reserve())
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
    reserve_many(checked_item, 1000)
    assert steps(checked_item, lambda: checked_item.reserve()) == steps_of_first


def test_a_refusal_is_one_command_too(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    checked_item.guarded = False
    checked_item.reserve(buyer=7)
    expected = {"evalsha": 1, "info": 1, "time": 1, "hmget": 1, "exists": 1, "hget": 1}
    assert steps(checked_item, lambda: checked_item.reserve(buyer=8)) == expected


def steps(checked_item: CheckedItem, call: Callable[[], object]) -> dict[str, int]:
    """The commands that the server ran meanwhile, those inside scripts too."""
    before = Counter(checked_item.store.calls())
    call()
    after = Counter(checked_item.store.calls())
    return dict(after - before - Counter({"info": 1}))


def test_a_reservation_takes_less_than_400_bytes_until_it_is_drained(
    checked_item: CheckedItem, record_property: Callable[[str, object], None]
) -> None:
    checked_item.publish(quantity=RESERVATIONS, per_buyer_max=2)
    empty = memory(checked_item)
    reserve_many(checked_item, RESERVATIONS)
    undrained = (memory(checked_item) - empty) / RESERVATIONS
    while entries := outbox.read_batch(item_id=ITEM_ID, count_max=1000):
        outbox.acknowledge(item_id=ITEM_ID, entry_ids=[entry.id for entry in entries])
    drained = (memory(checked_item) - empty) / RESERVATIONS
    record_property("bytes_undrained", undrained)
    record_property("bytes_drained", drained)
    print(f"bytes per reservation: {undrained:.0f} in the outbox, {drained:.0f} drained")
    assert drained < undrained < BYTES_MAX


def reserve_many(checked_item: CheckedItem, count: int) -> None:
    keys = [getattr(checked_item.keys, name) for name in ("item", "buyers", "holds", "outbox", "latest")]
    calls: list[tuple[list[str], list[scripts.Argument]]] = [
        (keys, [str(checked_item.new_id()), 1_000_000 + number, 1, 10**9]) for number in range(count)
    ]
    for start in range(0, count, 1000):
        answers = scripts.RESERVE.run_many(checked_item.client, calls[start : start + 1000])
        assert {answer[0] for answer in answers} == {"reserved"}


def test_the_time_of_the_server_for_a_reservation_and_for_a_refusal_is_printed(checked_item: CheckedItem) -> None:
    checked_item.guarded = False
    versions = {"reserve.lua": scripts.RESERVE}
    if path := os.environ.get("RESERVE_LUA"):
        versions[path] = scripts.Script("reserve", Path(path).read_text())
    measured: dict[str, list[float]] = defaultdict(list)
    for _ in range(5):
        for name, script in versions.items():
            for word in (Outcome.RESERVED, Outcome.SOLD_OUT):
                measured[f"{name}: {word}"].append(server_us(checked_item, script, word))
    for name, times_us in measured.items():
        print(f"{name:40} {median(times_us):5.1f} µs of the server, median of {len(times_us)}")
    assert all(measured.values())


def server_us(checked_item: CheckedItem, script: scripts.Script, word: Outcome) -> float:
    """The server's time for one of many pipelined calls, by its own statistics."""
    checked_item.client.flushdb()
    checked_item.publish(quantity=1_000_000)
    if word is Outcome.SOLD_OUT:
        checked_item.sold()
        checked_item.client.hset(checked_item.keys.item, mapping={"left": 0, "sold": 1_000_000})
    slots, arguments = (int(number) for number in re.findall(r"== (\d)", script.source)[:2])
    keys = [getattr(checked_item.keys, name) for name in ("item", "buyers", "holds", "outbox", "latest")][:slots]
    calls: list[tuple[list[str], list[scripts.Argument]]] = []
    for number in range(2000):
        args: list[scripts.Argument] = [str(checked_item.new_id()), 1_000_000 + number, 1, 10**9]
        calls.append((keys, args[:arguments]))
    checked_item.client.script_load(script.source)
    checked_item.client.config_resetstat()
    answers = script.run_many(checked_item.client, calls[:1000]) + script.run_many(checked_item.client, calls[1000:])
    assert {answer[0] for answer in answers} == {word}
    return float(checked_item.client.info("commandstats")["cmdstat_evalsha"]["usec_per_call"])


def memory(checked_item: CheckedItem) -> int:
    used: int = checked_item.client.info("memory")["used_memory"]
    return used
