"""Three primaries of a Cluster beside one store, the items spread evenly over them."""

import itertools
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from redis import Redis

from bench.lab.servers.cluster import running_cluster
from bench.lab.servers.lab_store import CLIENT_SECONDS_MAX, lab_store
from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.server_groups import STORE
from seckill import ledger
from seckill.ledger_words import Published
from seckill.passes import passes
from seckill.store import scripts
from seckill.store.cluster import slot_of
from seckill.store.keys import keys_of
from shop.local.stores.cluster_store import PRIMARIES
from shop.local.stores.nodes_conf import SLOTS

# Of each primary, and how often each is reserved in one run.
ITEMS, RESERVATIONS = 4, 5_000
# A core for each primary and for each client. With fewer they would wait for each other.
CORES_MIN = 2 * PRIMARIES
WORD = "reserved"
# In so many the one store and the primaries take turns, so that other work of the machine affects all alike.
TURNS = 10
# Calls that are sent at once.
PORTION = 500
CHUNK = 65_536
ANSWER_SECONDS_MAX = 10.0


class PipelinedClient:
    """One connection to one server. The bytes of all calls are ready before, and answers are only counted.

    So the server's own speed is what is measured, also where client and server share few cores. While a portion is
    answered, the next one is under way already.
    """

    def __init__(self, *, port: int, password: str) -> None:
        """Raises WrongAnswer."""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX)
        self._socket.sendall(f"AUTH {password}\r\n".encode())
        if not (answer := self._socket.recv(CHUNK)).startswith(b"+OK"):
            raise WrongAnswer(f"AUTH was answered {answer!r}")

    def close(self) -> None:
        self._socket.close()

    def send(self, calls: Sequence[bytes], *, word: str) -> float:
        """Send all calls, and return the seconds until the last answer. Raises WrongAnswer unless each is `word`."""
        portions = [b"".join(calls[start : start + PORTION]) for start in range(0, len(calls), PORTION)]
        # The first element of an array, whatever follows it.
        counted = f"\r\n${len(word)}\r\n{word}\r\n".encode()
        sent = answered = 0
        rest = b""
        began_s = time.perf_counter()
        while answered < len(calls):
            while sent < len(portions) and answered >= (sent - 1) * PORTION:
                self._socket.sendall(portions[sent])
                sent += 1
            try:
                data = rest + self._socket.recv(CHUNK)
            except TimeoutError:
                data = rest
            if len(data) == len(rest):
                raise WrongAnswer(
                    f"{answered:,} of {len(calls):,} calls were answered {word}; the last bytes: {rest!r}"
                )
            *answers, tail = data.split(counted)
            answered += len(answers)
            # This may be the beginning of the next one.
            rest = tail[-len(counted) :]
        return time.perf_counter() - began_s


def send_together(work: Sequence[tuple[PipelinedClient, Sequence[bytes]]], *, word: str) -> float:
    """All clients at once: the seconds until the last one has ended. Raises WrongAnswer."""
    wrong: list[WrongAnswer] = []

    def send(client: PipelinedClient, calls: Sequence[bytes]) -> None:
        try:
            client.send(calls, word=word)
        except WrongAnswer as error:
            wrong.append(error)

    threads = [threading.Thread(target=send, args=one) for one in work]
    began_s = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]
    return time.perf_counter() - began_s


def connected(*, port: int, password: str) -> closing[PipelinedClient]:
    return closing(PipelinedClient(port=port, password=password))


@dataclass(frozen=True, slots=True)
class Measured:
    """One server, and a client of each kind: `admin` asks it questions, `pipe` loads it."""

    admin: Any
    pipe: PipelinedClient
    item_ids: Sequence[int]

    def cpu_seconds(self) -> float:
        """Its processor time, all threads, as it says itself: /proc counts in hundredths of a second."""
        cpu = self.admin.info("cpu")
        return float(cpu["used_cpu_sys"]) + float(cpu["used_cpu_user"])


@dataclass(frozen=True, slots=True)
class Run:
    """One server under load."""

    calls: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds


def cluster(server: Server) -> Sample:
    """The reservation script on one store, and the same calls on three primaries: in turns, and then all three at once.

    All four are new and start empty, so that none has more to carry than its own calls.
    """
    item_ids = items_by_node()
    with lab_store() as single, running_cluster() as three, ExitStack() as clients:
        url = urlsplit(single.url)
        servers = [
            (url.port or 0, url.password or "", list(itertools.chain(*item_ids))),
            *((node.port, node.password, items) for node, items in zip(three.nodes, item_ids, strict=True)),
        ]
        measured = [
            Measured(
                clients.enter_context(Redis(port=port, password=password, socket_timeout=CLIENT_SECONDS_MAX)),
                clients.enter_context(connected(port=port, password=password)),
                items,
            )
            for port, password, items in servers
        ]
        for one in measured:
            prepare(one)
        on_one, *on_three = run_in_turns(measured)
        together = [(node.pipe, reserve_calls(node.item_ids)) for node in measured[1:]]
        together_per_second = sum(len(calls) for _pipe, calls in together) / send_together(together, word=WORD)
    return Sample(figures=figures_of(on_one, on_three, together_per_second=together_per_second))


def figures_of(
    one: Run, three: Sequence[Run], *, together_per_second: float, cores: int | None = None
) -> Mapping[str, float]:
    """The ratios: what three do when the busiest of them has no time left, beside what one does then.

    By a pipelined client: all primaries at once where there are cores enough, else one after the other, as if each had
    a machine of its own. `together_ratio` is what they do on this machine.
    """
    calls = sum(node.calls for node in three)
    enough_cores = (cores or os.cpu_count() or 1) >= CORES_MIN
    three_per_second = together_per_second if enough_cores else sum(node.per_second for node in three)
    return {
        "one_cpu_us": one.cpu_seconds / one.calls * 1e6,
        "three_cpu_us": sum(node.cpu_seconds for node in three) / calls * 1e6,
        "cpu_ratio": (calls / max(node.cpu_seconds for node in three)) / (one.calls / one.cpu_seconds),
        "one_per_second": one.per_second,
        "three_per_second": three_per_second,
        "pipelined_ratio": three_per_second / one.per_second,
        "together_per_second": together_per_second,
        "together_ratio": together_per_second / one.per_second,
    }


def run_in_turns(servers: Sequence[Measured]) -> list[Run]:
    """Reserve each item so often: a share of the calls on each server in turn. Raises WrongAnswer."""
    calls = [reserve_calls(server.item_ids) for server in servers]
    seconds = [0.0] * len(servers)
    before_s = [server.cpu_seconds() for server in servers]
    for turn in range(TURNS):
        for number, server in enumerate(servers):
            its_calls = calls[number]
            portion = its_calls[len(its_calls) * turn // TURNS : len(its_calls) * (turn + 1) // TURNS]
            seconds[number] += server.pipe.send(portion, word=WORD)
    return [
        Run(calls=len(calls[number]), seconds=seconds[number], cpu_seconds=server.cpu_seconds() - before_s[number])
        for number, server in enumerate(servers)
    ]


def items_by_node() -> list[list[int]]:
    """For each primary so many items that are its own."""
    found: list[list[int]] = [[] for _ in range(PRIMARIES)]
    for item_id in itertools.count(1):
        if all(len(items) == ITEMS for items in found):
            break
        items = found[node_of(slot_of(item_id))]
        if len(items) < ITEMS:
            items.append(item_id)
    return found


def node_of(slot: int) -> int:
    """Which node has the slot (shop/local/stores/nodes_conf.py gives each an equal range)."""
    return next(number for number in range(PRIMARIES) if slot < SLOTS * (number + 1) // PRIMARIES)


def prepare(measured: Measured) -> None:
    """Put the items on sale on this very server, with units for all runs, and load the script. Raises WrongAnswer."""
    # The one store has three times as much to rewrite, and would do it in the middle of its run.
    measured.admin.config_set("auto-aof-rewrite-percentage", "0")
    now_ms = int(time.time() * 1000)
    terms = (10 * RESERVATIONS, now_ms - 1_000, now_ms + 3_600_000, 3_600_000, 1, 100, "CNY", "open", "1")
    for item_id in measured.item_ids:
        keys = keys_of(item_id)
        (word, *_more) = scripts.PUBLISH.run(measured.admin, keys=[keys.item, keys.outbox], args=terms)
        if word != Published.PUBLISHED:
            raise WrongAnswer(f"publish.lua answered {word}")
    measured.admin.script_load(scripts.RESERVE.source)


def reserve_calls(item_ids: Sequence[int]) -> list[bytes]:
    """The bytes of one call after the other, items in turn, each of a buyer who has never called."""
    return [packed_call(item_id, buyer_id=next(BUYERS)) for _number in range(RESERVATIONS) for item_id in item_ids]


BUYERS = itertools.count(1)


def packed_call(item_id: int, *, buyer_id: int) -> bytes:
    keys, args = ledger.reserve_slots(
        item_id=item_id, reservation_id=passes.new_reservation_id(item_id), buyer_id=buyer_id, units=1
    )
    head = scripts.command_head(scripts.RESERVE.sha, keys, len(args))
    return head + b"".join(scripts.packed(str(arg)) for arg in args)


PARTS = (Part("cluster", "reserve.lua on three primaries beside one, pipelined", STORE, cluster),)
