"""What a web process reads of the sales before it is asked (web/warm_start.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone
from redis import Redis

from seckill.models import SaleItem, published_items
from seckill.store import scripts
from seckill.store.client import ask_each

# One page may show many items, and the gate reads all that are asked for every 50 ms.
ITEMS_MAX = 200
# As many as threads that reserve (web/lanes.py), and one for the gate.
CONNECTIONS = 9


@dataclass(frozen=True, slots=True)
class OpenSales:
    """The first calls will be for these: items of sales that are open or open soon, and the paths of their pages."""

    item_ids: Sequence[int]
    paths: Sequence[str]


def read_open_sales() -> OpenSales:
    """The items that are on sale or soon will be, those that opened last first. Raises database errors."""
    try:
        soon = timezone.now() + timedelta(seconds=settings.SECKILL_PASS_LEAD_SECONDS)
        found = published_items().filter(sale__opens_at__lte=soon, sale__closes_at__gt=timezone.now())
        items: list[SaleItem] = list(found.order_by("-sale__opens_at", "pk")[:ITEMS_MAX])
    finally:
        # This thread is not needed again.
        connection.close()
    # A sale has several items.
    paths = dict.fromkeys(f"/sales/{item.sale_id}/" for item in items)
    return OpenSales([item.pk for item in items], list(paths))


def connect_to_store(item_ids: Sequence[int]) -> None:
    """Open connections to each server of the store that has one of the items, and give it the scripts.

    Raises StoreUnreachable if none of them answers.
    """

    def connect(client: Redis, item_ids: Sequence[int]) -> dict[int, None]:
        scripts.load(client)
        scripts.connect(client, count=CONNECTIONS)
        return dict.fromkeys(item_ids)

    # One item that need not exist, where nothing is on sale: a Cluster is then known, and so is a single server.
    ask_each(connect, item_ids=item_ids or [0])


def connect_to_database() -> None:
    """Open this thread's connection to PostgreSQL. Raises database errors."""
    connection.ensure_connection()
