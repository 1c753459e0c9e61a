"""The cost of a reservation in the reservation store, and of its way into PostgreSQL; no shop runs meanwhile."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Count
from django_redis import get_redis_connection

from bench.load_sale import retire
from bench.measure.speed import measured_sales
from bench.measure.speed.part import Part, Sample, Server, WrongAnswer, seconds_since
from bench.measure.speed.server_groups import SHOP, STORE
from bench.processor_time import seconds_by_kind
from orders.life import intake
from orders.models import OrderLine
from seckill import ledger
from seckill.models import SaleItem
from seckill.passes import passes
from seckill.store import scripts
from seckill.store.keys import keys_of

RESERVATIONS = 20_000
# Calls in one pipeline: the server reads many at once, so that its own work is what is measured.
PIPELINE = 500
# The least that a script can do to sell a unit: the shop's is compared with it.
LEAST = scripts.Script(
    "least", "if tonumber(redis.call('GET', KEYS[1])) > 0 then redis.call('DECR', KEYS[1]) end return {'reserved'}"
)
LEAST_KEY = "speed:least"

Calls = list[tuple[Sequence[str], Sequence[scripts.Argument]]]


def script(server: Server) -> Sample:
    """The reservation script, accepted and refused, beside one that does nothing but GET and DECR."""
    item = measured_sales.new_item("Measured script", quantity=RESERVATIONS)
    accepted = run_calls(server, scripts.RESERVE, reserve_calls(item), word="reserved")
    # All units are held now.
    refused = run_calls(server, scripts.RESERVE, reserve_calls(item), word="held_by_others")
    client: Any = get_redis_connection("seckill")
    client.set(LEAST_KEY, RESERVATIONS)
    least = run_calls(server, LEAST, [([LEAST_KEY], [])] * RESERVATIONS, word="reserved")
    client.delete(LEAST_KEY)
    drain(item)
    retire(item)
    named = {"accepted": accepted, "refused": refused, "least": least}
    return Sample(
        figures={
            **{f"{name}_us": script_us for name, (script_us, _cpu_us) in named.items()},
            **{f"{name}_cpu_us": cpu_us for name, (_script_us, cpu_us) in named.items()},
            "accepted_to_least": accepted[0] / least[0],
            "refused_to_least": refused[0] / least[0],
        }
    )


def drained(server: Server) -> Sample:
    """The way of orders into PostgreSQL in whole batches: processor time for each, and what the store keeps of them."""
    item = measured_sales.new_item("Measured drain", quantity=RESERVATIONS)
    run_calls(server, scripts.RESERVE, reserve_calls(item), word="reserved")
    undrained_bytes = stored_bytes(item) / RESERVATIONS
    before, python_before, began_s = seconds_by_kind(server.pids), time.process_time(), time.monotonic()
    drain(item)
    seconds = {"worker": time.process_time() - python_before, **seconds_since(before, server)}
    wall_s = time.monotonic() - began_s
    check_drained(item)
    drained_bytes = stored_bytes(item) / RESERVATIONS
    retire(item)
    return Sample(
        figures={
            **{f"{kind}_us": seconds[kind] / RESERVATIONS * 1e6 for kind in ("worker", "postgres", "store")},
            "worker_and_postgres_us": (seconds["worker"] + seconds["postgres"]) / RESERVATIONS * 1e6,
            "orders_per_second": RESERVATIONS / wall_s,
            "undrained_bytes": undrained_bytes,
            "store_bytes": drained_bytes,
        }
    )


def idle(server: Server) -> Sample:
    """The whole shop with nothing to do: the share of a core that each kind of process uses."""
    before, began_s = seconds_by_kind(server.pids), time.monotonic()
    time.sleep(server.seconds)
    seconds = seconds_since(before, server)
    wall_s = time.monotonic() - began_s
    return Sample(figures={f"{kind}_cores": used / wall_s for kind, used in seconds.items()})


def reserve_calls(item: SaleItem) -> Calls:
    """A reservation of one unit for each of many buyers, who do not have to exist for the script."""
    return [
        ledger.reserve_slots(
            item_id=item.pk, reservation_id=passes.new_reservation_id(item.pk), buyer_id=buyer_id, units=1
        )
        for buyer_id in measured_sales.buyer_ids(RESERVATIONS)
    ]


def run_calls(server: Server, script: scripts.Script, calls: Calls, *, word: str) -> tuple[float, float]:
    """Microseconds of a call: as the server counts the script, and all its processor time. Raises WrongAnswer."""
    client: Any = get_redis_connection("seckill")
    client.script_load(script.source)
    client.config_resetstat()
    before = seconds_by_kind(server.pids)
    for portion in portions(calls):
        wrong = {answer[0] for answer in script.run_many(client, portion)} - {word}
        if wrong:
            raise WrongAnswer(f"{script.verb}.lua answered {', '.join(wrong)}, expected {word}")
    cpu_seconds = seconds_since(before, server)["store"]
    counted = client.info("commandstats")["cmdstat_evalsha"]
    return counted["usec"] / counted["calls"], cpu_seconds / len(calls) * 1e6


def portions(calls: Calls) -> Iterator[Calls]:
    for start in range(0, len(calls), PIPELINE):
        yield calls[start : start + PIPELINE]


def drain(item: SaleItem) -> None:
    while intake.drain_once(item_id=item.pk):
        pass


def check_drained(item: SaleItem) -> None:
    orders = OrderLine.objects.filter(sale_item=item).aggregate(count=Count("order", distinct=True))["count"]
    if orders != RESERVATIONS:
        raise WrongAnswer(f"{RESERVATIONS:,} reservations, but {orders:,} orders")


def stored_bytes(item: SaleItem) -> int:
    """The memory of the item's keys in the store; SAMPLES 0 counts every element of a key."""
    client: Any = get_redis_connection("seckill")
    return sum(client.memory_usage(key, samples=0) or 0 for key in asdict(keys_of(item.pk)).values())


PARTS = (
    Part("script", "reserve.lua alone, pipelined", STORE, script),
    Part("drain", "orders into PostgreSQL, alone", STORE, drained),
    Part("idle", "the whole shop, idle", SHOP, idle),
)
