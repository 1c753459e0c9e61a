"""Measures what each way of writing to disk costs the reservation store, and how many confirmed reservations it loses.

It also measures what it costs that a yes waits for a replica, and how many are lost with the primary with and without
that. Starts Valkeys of its own on 127.0.0.1, one after the other, and kills them under load. The shop's servers are not
touched. Exit code 1 if the shop's way of writing, or a yes that waited, lost a reservation; 2 if nothing could be
measured.
"""

import os
import secrets
import sys
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from bench.argument_types import number_up_to
from bench.machine import facts, sentence_of
from bench.measure.durability import price_table
from bench.measure.durability.disk import NoSlowDisk, build_library, file_system_of, sync_ms
from bench.measure.durability.measured_store import Address, MeasuredStore
from bench.measure.durability.prices import WAYS, Price, lines_of, price_list
from bench.measure.durability.replica_prices import LINES, ReplicaPrice, replica_price_list
from bench.measure.durability.reserving_pool import running_pool
from bench.measure.durability.rounds import RoundFailed
from bench.own_run import listen_for_stop
from bench.spawned_processes import BuyersFailed
from bench.tables import ticking
from seckill.store.client import StoreUnreachable
from shop.local.ports import free_port
from shop.local.process import ProcessFailed
from shop.local.shop_processes import ROOT
from shop.local.wheel import WheelMissing

# So that no combination of options takes much longer than eight minutes.
SECONDS_MAX, ROUNDS_MAX, CLIENTS_MAX = 5.0, 5, 64
# A call can wait for two syncs, and clients give up after 0.9 s.
DELAY_MS_MAX = 400.0


def main(arguments: list[str]) -> int:
    listen_for_stop()
    options = parsed(arguments)
    directory = options.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    address = Address(port=free_port(), password=secrets.token_hex(16))
    use_settings_of_the_shop(address)
    console = Console(highlight=False)
    try:
        # Not in /tmp, which may be in memory.
        with tempfile.TemporaryDirectory(prefix="durability-", dir=directory) as working_directory:
            measured = measure(Path(working_directory), options=options, address=address)
    except (BuyersFailed, ProcessFailed, RoundFailed, StoreUnreachable, WheelMissing) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped before the end.", file=sys.stderr)
        return 130
    prices, replica_prices, measured_on, why_not_slowed = measured
    console.print(price_table.table_of(prices))
    console.print(price_table.replica_table_of(replica_prices))
    console.print(sentence_of(measured_on), style="dim")
    if why_not_slowed:
        console.print(f"No slowed disk, and no power cuts: {why_not_slowed}.", style="yellow")
    if measured_on["file system"] in ("tmpfs", "ramfs"):
        console.print(
            "This directory is in memory, so syncs took no time: choose another with --directory.", style="red"
        )
    for write, name in ((price_table.as_json, "durability.json"), (price_table.markdown_of, "durability.md")):
        text = write(prices, replica_prices, measured_on=measured_on, why_not_slowed=why_not_slowed)
        (directory / name).write_text(text)
    console.print(f"{directory}/durability.json, durability.md", style="dim")
    lost = any(price.lost_confirmed for price in prices) or any(price.lost_promised for price in replica_prices)
    return 1 if lost else 0


def measure(
    directory: Path, *, options: Namespace, address: Address
) -> tuple[list[Price], list[ReplicaPrice], Mapping[str, str], str]:
    """The prices, those of a replica, the machine, and why there are none on a slowed disk (empty if there are)."""
    try:
        library, why_not_slowed = build_library(directory), ""
    except NoSlowDisk as reason:
        library, why_not_slowed = None, str(reason)
    measured_on = machine(directory, address=address, options=options)
    delay_s = options.delay_ms / 1000
    lines = [*lines_of(delay_s if library else 0.0), *LINES]
    with (
        running_pool(processes=options.processes, threads=options.threads) as pool,
        ticking("starting", total=len(lines) * options.rounds) as tick,
    ):
        prices = price_list(
            directory,
            address=address,
            library=library,
            delay_s=delay_s,
            seconds=options.seconds,
            rounds=options.rounds,
            pool=pool,
            tick=tick,
        )
        replica_prices = replica_price_list(
            directory, address=address, seconds=options.seconds, rounds=options.rounds, pool=pool, tick=tick
        )
        return prices, replica_prices, measured_on, why_not_slowed


def use_settings_of_the_shop(address: Address) -> None:
    """Set what the settings read, here and in the buyers' processes. Only the store's address is ever used."""
    store = f"redis://:{address.password}@127.0.0.1:{address.port}/0"
    os.environ.update(
        DJANGO_SETTINGS_MODULE="shop.settings",
        SECRET_KEY=secrets.token_urlsafe(50),
        DATABASE_URL="postgres://127.0.0.1:1/none",
        SECKILL_REDIS_URL=store,
        REDIS_URL=store,
        CELERY_BROKER_URL=store,
        # Each round says itself how many a yes waits for.
        SECKILL_YES_REPLICAS="0",
        # There is no intake here to drain the outbox.
        SECKILL_BACKLOG_MAX=str(10**9),
    )


def machine(directory: Path, *, address: Address, options: Namespace) -> dict[str, str]:
    with MeasuredStore(directory / "version", address=address, options=WAYS["no AOF"]) as store:
        valkey = str(store.client().info("server")["valkey_version"])
    return {
        **facts(),
        "file system": file_system_of(directory),
        "fdatasync of one small write": f"{sync_ms(directory):.2f} ms",
        "Valkey": valkey,
        "clients": f"{options.processes} × {options.threads}",
        "rounds": f"{options.rounds} × {options.seconds:g} s",
    }


def parsed(arguments: list[str]) -> Namespace:
    parser = ArgumentParser(prog="make durability", description=__doc__)
    add = parser.add_argument
    add("--rounds", type=number_up_to(ROUNDS_MAX), default=5, help="rounds of each way; the median counts (5)")
    add("--seconds", type=seconds, default=3.0, help="length of a round (3)")
    add("--processes", type=number_up_to(CLIENTS_MAX), default=4, help="processes of buyers (4)")
    add("--threads", type=number_up_to(CLIENTS_MAX), default=8, help="buyers in each process (8)")
    add("--delay-ms", type=milliseconds, default=300.0, help="how much longer a sync of the slowed disk takes (300)")
    add("--directory", type=Path, default=ROOT / ".stampede", help="for the servers' files and the results (.stampede)")
    return parser.parse_args(arguments)


def seconds(text: str) -> float:
    if not 0.2 <= float(text) <= SECONDS_MAX:
        raise ArgumentTypeError(f"{text} is not a time from 0.2 to {SECONDS_MAX:g} s")
    return float(text)


def milliseconds(text: str) -> float:
    if not 50 <= float(text) <= DELAY_MS_MAX:
        raise ArgumentTypeError(f"{text} is not a time from 50 to {DELAY_MS_MAX:g} ms")
    return float(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
