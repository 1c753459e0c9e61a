"""The append-only file cut at every byte of its last transactions: each reservation must be complete or absent.

The store's files are copied in the middle of a sale, and other servers are started on copies, each a byte shorter.
"""

import shutil
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.faults.fault import Fault
from bench.faults.kinds.data_loss import last_file
from bench.lab.servers.lab_store import client_at
from seckill.store.keys import keys_of
from shop.local.ports import free_port
from shop.local.process import Process
from shop.local.valkey import STORE_FSYNC

# More than a reservation and a sweep's acknowledgement take in the file.
CUT_BYTES_MAX = 700
# Servers that load their files at the same time, each on a core.
SERVERS_AT_ONCE = 2
REWRITE_SECONDS_MAX = 20.0
START_SECONDS_MAX = 20.0
POLL_SECONDS = 0.005


class AofCutEverywhere(Fault):
    name = "store-aof-cut-everywhere"
    description = f"the store's append-only file is copied, cut at each of its last {CUT_BYTES_MAX} bytes, and loaded"
    duration_seconds = 0.5

    def inject(self) -> None:
        store = self.shop.store_client()
        # The rewrite makes the file short, and so it is tested under load too.
        store.bgrewriteaof()
        self.shop.wait(0.1)
        self.shop.wait_until(
            lambda: not store.info("persistence")["aof_rewrite_in_progress"], seconds_max=REWRITE_SECONDS_MAX
        )
        self.shop.wait(self.rng.uniform(1.0, 2.0))
        self._copy = self.shop.directory / "aof-cuts"
        shutil.rmtree(self._copy, ignore_errors=True)
        self.shop.freeze("store")
        shutil.copytree(self.shop.store_files(), self._copy)
        self.shop.thaw("store")

    def violations(self) -> Sequence[str]:
        """Start a server on each cut, some at the same time, and check what it has."""
        whole = last_file(self._copy).read_bytes()
        cuts = range(min(CUT_BYTES_MAX, len(whole)))
        servers = [self._server(number) for number in range(SERVERS_AT_ONCE)]
        problems: Counter[str] = Counter()
        for first in range(0, len(cuts), SERVERS_AT_ONCE):
            round_ = list(zip(servers, cuts[first : first + SERVERS_AT_ONCE], strict=False))
            for (process, _port), cut in round_:
                self._copy_files(process, whole[: len(whole) - cut])
                process.start()
            for (process, port), _cut in round_:
                problems.update(self._check(process, port))
                process.kill()
        self.variant = f"{len(cuts)} cuts of a file of {len(whole)} bytes"
        self.happened = bool(cuts)
        shutil.rmtree(self._copy)
        return [f"{count} cuts: {problem}" for problem, count in problems.items()]

    def _server(self, number: int) -> tuple[Process, int]:
        port = free_port()
        return self.shop.valkey(f"aof-cut-{number}", port=port, fsync=STORE_FSYNC), port

    def _copy_files(self, process: Process, tail: bytes) -> None:
        assert process.directory is not None
        files = process.directory / "appendonlydir"
        shutil.rmtree(files, ignore_errors=True)
        shutil.copytree(self._copy, files)
        last_file(files).write_bytes(tail)

    def _check(self, process: Process, port: int) -> list[str]:
        give_up_s = time.monotonic() + START_SECONDS_MAX
        while not process.ready(process):
            if time.monotonic() > give_up_s or not process.running:
                return ["the server does not start"]
            time.sleep(POLL_SECONDS)
        client = client_at(port, password=self.shop.password)
        try:
            return inconsistencies(client, item_id=self.context.item.pk)
        finally:
            client.close()


def inconsistencies(client: Any, *, item_id: int) -> list[str]:
    """The differences in one item of a store; empty if every reservation is complete or absent."""
    keys = keys_of(item_id)
    item = client.hgetall(keys.item)
    quantity, left, held, sold = (int(item[name]) for name in (b"quantity", b"left", b"held", b"sold"))
    units: Counter[str] = Counter()
    of_buyer: Counter[bytes] = Counter()
    holds = client.hgetall(keys.holds)
    for hold in holds.values():
        state, buyer, hold_units, _deadline = hold.split(b":")
        units[state.decode()] += int(hold_units)
        if state != b"ended":
            of_buyer[buyer] += int(hold_units)
    buyers = {buyer: int(count) for buyer, count in client.hgetall(keys.buyers).items() if int(count)}
    entries = client.xinfo_stream(keys.outbox)["entries-added"] if client.exists(keys.outbox) else 0
    waiting = {fields[b"reservation"] for _entry, fields in client.xrange(keys.outbox)}
    wrong = {
        "units are missing or too many": quantity != left + held + sold or left < 0,
        "the counters do not match the holds": (held, sold) != (units["held"], units["sold"]),
        "the buyers' units do not match the holds": buyers != dict(of_buyer),
        "not every hold has its outbox entry": entries != len(holds),
        "an outbox entry has no hold": bool(waiting - holds.keys()),
    }
    return [problem for problem, found in wrong.items() if found]
