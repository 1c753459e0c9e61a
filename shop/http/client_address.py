"""The client address of a request. Limits and logs use it; nothing else reads the headers of proxies."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The client's IP address, with TRUSTED_PROXIES proxies between it and the shop.

    Each trusted proxy appends the address that it was called from to X-Forwarded-For, so the client's address is the
    n-th from the right. The client wrote all entries to the left of it. A request with fewer entries did
    not come through all proxies; then the address of the connection counts.
    """
    connection: str = request.META.get("REMOTE_ADDR", "")
    proxies: int = settings.TRUSTED_PROXIES
    if proxies > 0:
        entries = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(entries) >= proxies and (address := parse_address(entries[-proxies])):
            return address
    return parse_address(connection) or connection


def parse_address(text: str) -> str | None:
    """An IP address in its usual form, or None. Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # An IPv6 socket shows IPv4 clients as ::ffff:192.0.2.1.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def client_network(request: HttpRequest) -> str:
    """The network of the client, by which limits count."""
    return network_of(client_address(request))


def network_of(address: str) -> str:
    """Limits count by address; for IPv6 by its /64, which belongs to one customer."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
