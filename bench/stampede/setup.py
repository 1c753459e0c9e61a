"""Prepares a load test before its first call: an item that is open, and a running shop that knows it."""

import ipaddress
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.urls import reverse
from django.utils import timezone

from bench import http_requests, load_buyers
from bench.load_sale import open_load_items
from orders.models import LIVE, OrderLine
from seckill import ledger
from seckill.models import SaleItem, published_items
from seckill.phase import Phase
from seckill.publication import CannotPublish
from shop.times.zone import time_with_offset

# As long as a pass is valid: later it would be refused.
OWN_SALE_SECONDS = 900
# The web server polls the store for new sales, ten times a second.
OPEN_SECONDS_MAX = 5.0


class CannotStart(Exception):
    """There is no open item, or no shop that answers. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the shop listens: a name or address of this machine."""

    scheme: str
    host: str
    port: int

    @property
    def base(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def loopback_address(url: str) -> Address:
    """The address in `url`. Raises CannotStart for any other machine: a load generator must not call one by mistake."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 80
    except ValueError as error:
        raise CannotStart(f"{url!r} is not the address of a shop: {error}.") from error
    if parts.scheme != "http" or not host or parts.path.strip("/") or parts.query or parts.username:
        raise CannotStart(f"{url!r} is not the address of a shop: it must look like http://127.0.0.1:8000.")
    if not is_loopback(host):
        raise CannotStart(
            f"{host} is not this machine. This is a load generator, so it calls loopback addresses only: "
            "127.0.0.1, ::1 or localhost."
        )
    return Address(scheme=parts.scheme, host=host, port=port)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        # No other name, even if it resolves to this machine now: that may change a moment later.
        return host == "localhost"


def own_items(*, stock: int, count: int, units_max: int) -> list[SaleItem]:
    """The items of a new sale, open now, with the stock spread evenly over them. Raises CannotStart."""
    if count > stock:
        raise CannotStart(f"{stock} units are too few for {count} items: each needs one.")
    try:
        return open_load_items(
            name=f"Load test {time_with_offset(timezone.now())}",
            # The first items have one more where it does not come out even.
            quantities=[(stock + count - 1 - number) // count for number in range(count)],
            per_buyer_max=units_max,
            open_seconds=OWN_SALE_SECONDS,
            hold_seconds=OWN_SALE_SECONDS,
        )
    except CannotPublish as refusal:
        raise CannotStart(str(refusal)) from refusal


def existing_item(item_id: int) -> SaleItem:
    """A published item whose sale is open. Raises CannotStart."""
    item = published_items().filter(pk=item_id).first()
    if item is None:
        raise CannotStart(f"There is no published sale item {item_id}. Without ITEM the command creates a sale.")
    counters = ledger.read(item_id=item_id)
    if counters is None:
        raise CannotStart(
            f"The reservation store does not know sale item {item_id}. `manage.py sale_rebuild` restores it."
        )
    if counters.phase is not Phase.OPEN:
        raise CannotStart(
            f"Sale item {item_id} is not open: {counters.phase}. "
            f"Its window is {item.sale.opens_at:%Y-%m-%d %H:%M:%S} to {item.sale.closes_at:%Y-%m-%d %H:%M:%S} UTC."
        )
    return item


def buyers_with_units(item: SaleItem) -> set[str]:
    """The names of load-test buyers who already have units of the item and might only get `limit_reached`."""
    lines = OrderLine.objects.filter(
        sale_item=item, order__status__in=LIVE, order__buyer__username__startswith=load_buyers.NAME_PREFIX
    )
    return set(lines.values_list("order__buyer__username", flat=True))


def check_running(*, address: Address) -> None:
    """Check that a web server answers, before anything is created for the test. Raises CannotStart."""
    request(address, "GET", "/healthz")


def check_shop(*, address: Address, item_id: int, pass_text: str) -> None:
    """Check that the web server has the item on sale and accepts the pass. Raises CannotStart.

    The pass is sent with zero units: a shop that accepts it complains about the units, and nothing is reserved.
    """
    give_up_s = time.monotonic() + OPEN_SECONDS_MAX
    while True:
        status, live_state = request(address, "GET", reverse("api-live", args=[item_id]))
        if status == 200 and live_state.get("phase") == "open":
            break
        if time.monotonic() > give_up_s:
            raise CannotStart(
                f"The web server at {address.base} does not have sale item {item_id} on sale (HTTP {status}, phase "
                f"{live_state.get('phase')}). Does it use the same reservation store as this command?"
            )
        time.sleep(0.1)
    status, _reply = request(
        address,
        "POST",
        reverse("api-reserve", args=[item_id]),
        body='{"units": 0}',
        headers={"Authorization": f"Pass {pass_text}"},
    )
    if status == 401:
        raise CannotStart(f"The web server at {address.base} does not accept our passes: it has another SECRET_KEY.")


def request(
    address: Address, method: str, path: str, *, body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """The status, and the JSON object of the answer. Raises CannotStart if none came."""
    data = body.encode() if body is not None else None
    reply = http_requests.request(address.port, method, path, host=address.host, headers=headers, data=data)
    if not reply.status:
        raise CannotStart(
            f"No shop answers at {address.base} ({reply.problem}). Start one with `make run`, or say where it is with "
            "--url."
        )
    return reply.status, reply.json_object
