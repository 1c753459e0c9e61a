"""The append-only file cut at every byte of its last transactions: each reservation is there as a whole, or not at all.

A copy of the store's files is taken in the middle of a sale, and servers of their own are started on it, each with a
few bytes less.
"""

import shutil
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.faults.fault import Fault
from bench.faults.kinds.data_loss import last_file
from bench.faults.raw_valkey import client_at
from seckill.keys import keys_of
from shop.local.process import Part
from shop.local.servers import free_ports
from shop.local.valkey import STORE_FSYNC

# More than a reservation and a sweep's acknowledgement take in the file.
CUT_BYTES_MAX = 700
# Servers that read their files at the same time, each on a core.
LANES = 2
REWRITE_SECONDS_MAX = 20.0
START_SECONDS_MAX = 20.0
POLL_SECONDS = 0.005


class AofCutEverywhere(Fault):
    name = "store-aof-cut-everywhere"
    what = f"copies of the store's file, cut at each of its last {CUT_BYTES_MAX} bytes, each read by another server"
    lasts_seconds = 0.5

    def inject(self) -> None:
        store = self.site.store_client()
        # A short file to cut, and rewriting it under load is worth a look as well.
        store.bgrewriteaof()
        self.site.wait(0.1)
        self.site.wait_until(
            lambda: not store.info("persistence")["aof_rewrite_in_progress"], seconds_max=REWRITE_SECONDS_MAX
        )
        self.site.wait(self.dice.uniform(1.0, 2.0))
        self._copy = self.site.directory / "aof-cuts"
        shutil.rmtree(self._copy, ignore_errors=True)
        self.site.freeze("store")
        shutil.copytree(self.site.store_files(), self._copy)
        self.site.thaw("store")

    def broken(self) -> Sequence[str]:
        """Start a server on each cut, some side by side, and look into it."""
        whole = last_file(self._copy).read_bytes()
        cuts = range(min(CUT_BYTES_MAX, len(whole)))
        lanes = [self._lane(number) for number in range(LANES)]
        words: Counter[str] = Counter()
        for first in range(0, len(cuts), LANES):
            round_ = list(zip(lanes, cuts[first : first + LANES], strict=False))
            for (part, _port), cut in round_:
                self._lay_out(part, whole[: len(whole) - cut])
                part.start()
            for (part, port), _cut in round_:
                words.update(self._look_into(part, port))
                part.kill()
        self.variant = f"{len(cuts)} cuts of a file of {len(whole)} bytes"
        shutil.rmtree(self._copy)
        return [f"{count} cuts: {word}" for word, count in words.items()]

    def struck(self) -> bool:
        return bool(self.variant)

    def _lane(self, number: int) -> tuple[Part, int]:
        (port,) = free_ports(count=1)
        return self.site.valkey(f"aof-cut-{number}", port=port, fsync=STORE_FSYNC), port

    def _lay_out(self, part: Part, tail: bytes) -> None:
        assert part.directory is not None
        files = part.directory / "appendonlydir"
        shutil.rmtree(files, ignore_errors=True)
        shutil.copytree(self._copy, files)
        last_file(files).write_bytes(tail)

    def _look_into(self, part: Part, port: int) -> list[str]:
        give_up_s = time.monotonic() + START_SECONDS_MAX
        while not part.ready(part):
            if time.monotonic() > give_up_s or not part.running:
                return ["the server does not start"]
            time.sleep(POLL_SECONDS)
        client = client_at(port, password=self.site.password)
        try:
            return inconsistencies(client, item_id=self.stage.item.pk)
        finally:
            client.close()


def inconsistencies(client: Any, *, item_id: int) -> list[str]:
    """What does not fit together in one item of a store; nothing where every reservation is whole or absent."""
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
        "the counters do not fit the holds": (held, sold) != (units["held"], units["sold"]),
        "the buyers' units do not fit the holds": buyers != dict(of_buyer),
        "not every hold has its outbox entry": entries != len(holds),
        "an outbox entry has no hold": bool(waiting - holds.keys()),
    }
    return [word for word, is_so in wrong.items() if is_so]
