"""Links between three hosts are cut at random, several at once and each way by itself, while buyers call two web hosts.

A yes must be on the replica too. Each host has a sentinel, two have a server of the store and a web server. At the end,
what buyers were told is compared with the orders, in the manner of Jepsen (https://jepsen.io). `PARTITION_SEED` repeats
a run, `PARTITION_ROUNDS` makes a longer one.
"""

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from pytest_django import Settings

from orders.life import intake
from orders.models import Order, OrderStatus
from orders.repair.audit import audit
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from shop.models import Product
from tests.hosts.private_network import HERE, need_network, private_network
from tests.hosts.spread_store import SpreadStore
from tests.hosts.web_hosts import YES_ON_A_REPLICA, Buyer, shop_on
from tests.own_store import as_reservation_store, running_replicated
from tests.processes import wait_until
from tests.seckill.store.items import reconciled
from tests.steps.buying import new_buyers
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS = ("first", "second", "third")
PLACES = {"store-1": "first", "store-2": "second", "sentinel-1": "first", "sentinel-2": "second", "sentinel-3": "third"}
# This machine is the host of the worker.
LINKS = (*itertools.permutations(HOSTS, 2), *((HERE, host) for host in HOSTS))
ROUNDS = int(os.environ.get("PARTITION_ROUNDS", "4"))
# Less and more than the 2 s after which sentinels replace a silent primary.
CUT_SECONDS = (0.5, 8.0)
HEALED_SECONDS = (0.5, 4.0)
# More units than are sold before the last cut.
UNITS = 700
BUYERS = 760
# Of the calls, so many are for a pass that was used before.
REPEATED = 0.2
PAUSE_SECONDS = 0.05
RECOVERY_SECONDS_MAX = 90.0


class Crowd:
    """Buyers at each host, who call again and again until they are told something certain."""

    def __init__(self, hosts: Sequence[Buyer], passes: Sequence[str], *, rng: random.Random) -> None:
        self.told: dict[str, str] = {}
        self._hosts = hosts
        self._passes = passes
        self._rng = rng
        self._ended = threading.Event()
        self._faults: list[Exception] = []

    @contextmanager
    def calling(self) -> Iterator[None]:
        count = len(self._hosts)
        threads = [
            threading.Thread(target=self._call, args=(host, self._passes[place::count]))
            for place, host in enumerate(self._hosts)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()
        assert not self._faults

    def ask(self, host: Buyer, text: str) -> None:
        word = host.reserve(text)
        # A yes is a promise, whatever is answered later.
        if self.told.get(text) != "yes":
            self.told[text] = word

    def is_certain(self, text: str) -> bool:
        """A buyer who was told yes does not ask again, which would take new units for a lost yes."""
        if self.told.get(text) != "yes":
            self.ask(self._rng.choice(self._hosts), text)
        return self.told[text] != "unavailable"

    def _call(self, host: Buyer, passes: Sequence[str]) -> None:
        rng, asked = random.Random(passes[0]), 0
        try:
            while not self._ended.is_set():
                repeats = asked == len(passes) or (asked and rng.random() < REPEATED)
                self.ask(host, passes[rng.randrange(asked) if repeats else asked])
                asked += not repeats
                time.sleep(PAUSE_SECONDS)
        except Exception as error:
            self._faults.append(error)


def test_no_yes_is_lost_and_nothing_oversold(
    server_directory: Path, product: Product, pass_for: Callable[..., str], settings: Settings
) -> None:
    need_network()
    seed = int(os.environ.get("PARTITION_SEED", random.SystemRandom().randrange(10**6)))
    print(f"PARTITION_SEED={seed}")
    rng = random.Random(seed)
    settings.SECKILL_YES_REPLICAS, settings.SECKILL_YES_WAIT_MS = 1, 300
    with (
        private_network(*HOSTS, "proxy") as network,
        running_replicated(SpreadStore, network=network, places=PLACES, replicas_min=1) as store,
        as_reservation_store(store),
    ):
        item = make_item(product, quantity=UNITS)
        passes = [pass_for(buyer, item) for buyer in new_buyers(BUYERS)]
        ports = [node.port for node in (*store.nodes, *store.watchers)]
        with shop_on(network, server_directory, SECKILL_REDIS_URL=store.url, **YES_ON_A_REPLICA):
            crowd = Crowd([Buyer(network.addresses[name], item) for name in ("first", "second")], passes, rng=rng)
            with crowd.calling():
                for _ in range(ROUNDS):
                    # Without a worker, only the store has the yeses.
                    spend = rng.choice([work_for, wait_for])
                    with network.cut_links(links_to_cut(rng), ports=ports):
                        spend(rng.uniform(*CUT_SECONDS), item)
                    spend(rng.uniform(*HEALED_SECONDS), item)
            wait_until(store.is_settled, seconds_max=RECOVERY_SECONDS_MAX)
            wait_until(lambda: reconciled(item), seconds_max=RECOVERY_SECONDS_MAX)
            for text in passes:
                wait_until(partial(crowd.is_certain, text), seconds_max=RECOVERY_SECONDS_MAX)
        work_for(0.0, item)
        assert_kept(item, crowd, passes)


def links_to_cut(rng: random.Random) -> list[tuple[str, str]]:
    """All links of one host, or any of all hosts."""
    if rng.random() < 0.5:
        host = rng.choice(HOSTS)
        return [link for link in LINKS if host in link]
    return rng.sample(LINKS, rng.randint(1, len(LINKS)))


def wait_for(seconds: float, _item: SaleItem) -> None:
    time.sleep(seconds)


def work_for(seconds: float, item: SaleItem) -> None:
    """What a worker does: orders are written, and the item is compared where another server has taken over."""
    ends_s = time.monotonic() + seconds
    while True:
        try:
            reconciled(item)
            while intake.drain_once(item_id=item.pk):
                pass
        except StoreUnreachable:
            pass
        if time.monotonic() >= ends_s:
            return
        time.sleep(0.2)


def assert_kept(item: SaleItem, crowd: Crowd, passes: Sequence[str]) -> None:
    yeses = sum(word == "yes" for word in crowd.told.values())
    orders = Order.objects.exclude(status=OrderStatus.REJECTED)
    assert len(crowd.told) == BUYERS
    assert yeses == orders.count() == UNITS
    assert left_held_sold(item) == (0, UNITS, 0)
    assert audit(item_id=item.pk).comparison.problem_count == 0
