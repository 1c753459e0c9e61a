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


def test_a_reservation_takes_less_than_400_bytes_until_it_is_drained(
    item: CheckedItem, record_property: Callable[[str, object], None]
) -> None:
    item.publish(quantity=RESERVATIONS, per_buyer_max=2)
    empty = memory(item)
    reserve_many(item, RESERVATIONS)
    undrained = (memory(item) - empty) / RESERVATIONS
    while entries := outbox.read_batch(item_id=ITEM_ID, count_max=1000):
        outbox.acknowledge(item_id=ITEM_ID, entry_ids=[entry.id for entry in entries])
    drained = (memory(item) - empty) / RESERVATIONS
    record_property("bytes_undrained", undrained)
    record_property("bytes_drained", drained)
    print(f"bytes per reservation: {undrained:.0f} in the outbox, {drained:.0f} drained")
    assert drained < undrained < BYTES_MAX


def reserve_many(item: CheckedItem, count: int) -> None:
    keys = [getattr(item.keys, name) for name in ("item", "buyers", "holds", "outbox", "latest")]
    calls: list[tuple[list[str], list[scripts.Argument]]] = [
        (keys, [str(item.new_id()), 1_000_000 + number, 1, 10**9]) for number in range(count)
    ]
    for start in range(0, count, 1000):
        answers = scripts.RESERVE.run_many(item.client, calls[start : start + 1000])
        assert {answer[0] for answer in answers} == {"reserved"}


def test_the_time_of_the_server_for_a_reservation_and_for_a_refusal_is_printed(item: CheckedItem) -> None:
    item.guarded = False
    versions = {"reserve.lua": scripts.RESERVE}
    if path := os.environ.get("RESERVE_LUA"):
        versions[path] = scripts.Script("reserve", Path(path).read_text())
    measured: dict[str, list[float]] = defaultdict(list)
    for _ in range(3):
        for name, script in versions.items():
            for word in (Outcome.RESERVED, Outcome.SOLD_OUT):
                measured[f"{name}: {word}"].append(server_us(item, script, word))
    for name, times_us in measured.items():
        print(f"{name:40} {median(times_us):5.1f} µs of the server, median of {len(times_us)}")
    assert all(measured.values())


def server_us(item: CheckedItem, script: scripts.Script, word: Outcome) -> float:
    """The server's time for one of many pipelined calls, by its own statistics."""
    item.client.flushdb()
    item.publish(quantity=1_000_000)
    if word is Outcome.SOLD_OUT:
        item.sold()
        item.client.hset(item.keys.item, mapping={"left": 0, "sold": 1_000_000})
    slots, arguments = (int(number) for number in re.findall(r"== (\d)", script.source)[:2])
    keys = [getattr(item.keys, name) for name in ("item", "buyers", "holds", "outbox", "latest")][:slots]
    calls: list[tuple[list[str], list[scripts.Argument]]] = []
    for number in range(1000):
        args: list[scripts.Argument] = [str(item.new_id()), 1_000_000 + number, 1, 10**9]
        calls.append((keys, args[:arguments]))
    item.client.script_load(script.source)
    item.client.config_resetstat()
    assert {answer[0] for answer in script.run_many(item.client, calls)} == {word}
    return float(item.client.info("commandstats")["cmdstat_evalsha"]["usec_per_call"])


def memory(item: CheckedItem) -> int:
    used: int = item.client.info("memory")["used_memory"]
    return used
