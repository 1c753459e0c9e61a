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
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from orders.life import intake
from orders.models import Order, OrderStatus
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from shop.models import Product
from tests.hosts.private_network import need_network, private_network
from tests.hosts.spread_store import SpreadStore
from tests.hosts.web_hosts import Buyer, shop_on
from tests.own_store import as_reservation_store, running_replicated
from tests.processes import wait_until
from tests.seckill.store.items import reconciled
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS = ("first", "second", "third")
PLACES = {"store-1": "first", "store-2": "second", "sentinel-1": "first", "sentinel-2": "second", "sentinel-3": "third"}
LINKS = tuple(itertools.permutations(HOSTS, 2))
ROUNDS = int(os.environ.get("PARTITION_ROUNDS", "4"))
# Less and more than the 2 s after which sentinels replace a silent primary.
CUT_SECONDS = (0.5, 8.0)
HEALED_SECONDS = (0.5, 4.0)
UNITS = 60
BUYERS = 90
RECOVERY_SECONDS_MAX = 90.0


class Crowd:
    """Buyers who call one host or the other again and again until they are told something certain."""

    def __init__(self, hosts: Sequence[Buyer], passes: Sequence[str], *, rng: random.Random) -> None:
        self.told: dict[str, str] = {}
        self._hosts = hosts
        self._passes = passes
        self._rng = rng
        self._ended = threading.Event()
        self._faults: list[Exception] = []

    @contextmanager
    def calling(self) -> Iterator[None]:
        thread = threading.Thread(target=self._call_until_the_end)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
        assert not self._faults

    def ask(self, text: str) -> None:
        word = self._rng.choice(self._hosts).reserve(text)
        # A yes is a promise, whatever is answered later.
        if self.told.get(text) != "yes":
            self.told[text] = word

    def _call_until_the_end(self) -> None:
        try:
            while not self._ended.is_set():
                self.ask(self._rng.choice(self._passes))
                time.sleep(0.03)
        except Exception as error:
            self._faults.append(error)


def test_no_yes_is_lost_and_nothing_oversold(
    server_directory: Path, product: Product, pass_for: Callable[..., str], settings: Settings
) -> None:
    need_network()
    seed = int(os.environ.get("PARTITION_SEED", random.SystemRandom().randrange(10**6)))
    print(f"PARTITION_SEED={seed}")
    rng = random.Random(seed)
    buyers = User.objects.bulk_create([User(username=f"buyer-{number}") for number in range(BUYERS)])
    settings.SECKILL_YES_REPLICAS, settings.SECKILL_YES_WAIT_MS = 1, 300
    with (
        private_network(*HOSTS, "proxy") as network,
        running_replicated(SpreadStore, network=network, places=PLACES, replicas_min=1) as store,
        as_reservation_store(store),
    ):
        item = make_item(product, quantity=UNITS)
        passes = [pass_for(buyer, item) for buyer in buyers]
        environment = {"SECKILL_REDIS_URL": store.url, "SECKILL_YES_REPLICAS": "1", "SECKILL_YES_WAIT_MS": "300"}
        with shop_on(network, server_directory, **environment):
            crowd = Crowd([Buyer(network.addresses[name], item) for name in ("first", "second")], passes, rng=rng)
            with crowd.calling():
                for _ in range(ROUNDS):
                    cut = rng.sample(LINKS, rng.randint(1, len(LINKS)))
                    with network.cut_links(cut):
                        work_for(rng.uniform(*CUT_SECONDS), item)
                    work_for(rng.uniform(*HEALED_SECONDS), item)
            wait_until(store.is_settled, seconds_max=RECOVERY_SECONDS_MAX)
            wait_until(lambda: reconciled(item), seconds_max=RECOVERY_SECONDS_MAX)
            for text in passes:
                wait_until(lambda text=text: certain(crowd, text), seconds_max=RECOVERY_SECONDS_MAX)
        work_for(0.0, item)
        assert_kept(item, crowd, passes)


def certain(crowd: Crowd, text: str) -> bool:
    crowd.ask(text)
    return crowd.told[text] != "unavailable"


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
    counters = ledger.read(item_id=item.pk)
    assert counters is not None
    assert (counters.left, counters.held) == (0, UNITS)
    assert audit(item_id=item.pk).comparison.problem_count == 0
