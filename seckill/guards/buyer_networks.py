"""From which networks buyers come, so that the report of a sale can say to how many its units went.

The network is known where a pass or an entry in a draw is given, and is noted there. Once a second a thread writes what
was noted to the cache server: for each account a mark of its network, until the report has kept its sums. Noting costs
a buyer's call nothing to wait for. While that server is away, what is noted is lost: the report calls it not known.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from hashlib import blake2b
from typing import Any

from django.conf import settings
from django_redis import get_redis_connection

from seckill.models import Sale
from shop.background.lazy_thread import LazyThread
from shop.background.outages import AWAY, go_on, wait

# After the last hold. The report keeps its sums a day after it (orders/report/kept_sums.py).
KEPT_FOR = timedelta(days=2)
WRITE_SECONDS = 1.0
# More passes than a process gives in a second.
NOTED_MAX = 100_000
Noted = tuple[int, int, int, str]


class BuyerNetworks:
    """Those that one process has noted, and the thread that writes them."""

    def __init__(self) -> None:
        self._noted: deque[Noted] = deque(maxlen=NOTED_MAX)
        self._lock = threading.Lock()
        self._writer = LazyThread(self._write_later, name="buyer-networks")

    def note(self, *, sale: Sale, buyer_id: int, network: str) -> None:
        """Returns at once and never raises. The last network of an account counts."""
        self._noted.append((sale.pk, int((sale.last_hold_ends_at + KEPT_FOR).timestamp()), buyer_id, network))
        self._writer.wake()

    def write(self) -> None:
        """One round trip for all that was noted."""
        with self._lock:
            pipeline = connection().pipeline(transaction=False)
            for _ in range(len(self._noted)):
                sale_id, keep_until_s, buyer_id, network = self._noted.popleft()
                pipeline.hset(key(sale_id), str(buyer_id), mark_of(sale_id, network))
                pipeline.expireat(key(sale_id), keep_until_s)
            try:
                pipeline.execute()
            except AWAY as error:
                wait("buyer_networks", error)
            else:
                go_on("buyer_networks")

    def _write_later(self) -> None:
        time.sleep(WRITE_SECONDS)
        self.write()


def networks_of(*, sale_id: int, buyer_ids: Sequence[int]) -> list[str | None]:
    """The mark of each buyer's network; None where it is not known. Raises errors of the cache server."""
    found: list[bytes | None] = connection().hmget(key(sale_id), buyer_ids)
    return [mark.decode() if mark else None for mark in found]


def mark_of(sale_id: int, network: str) -> str:
    """The same for all addresses of an IPv4 /24 or an IPv6 /64, and another one in another sale."""
    wide = network if ":" in network else network.rpartition(".")[0] or network
    secret = settings.SECRET_KEY.encode()[:64]
    return blake2b(f"{sale_id} {wide}".encode(), digest_size=8, key=secret, person=b"buyer-network").hexdigest()


def key(sale_id: int) -> str:
    return f"seckill.buyer_networks:{sale_id}"


def connection() -> Any:
    return get_redis_connection("default")


buyer_networks = BuyerNetworks()
