"""Servers that accept connections and answer nothing, as with SIGSTOP, for the shop of one test alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from bench.faults.wire.proxy import Mode, Proxy
from shop.local.ports import free_port
from tests.live_shop import environment

# The variables of the shop's servers, by the names that /metrics gives them.
VARIABLES = {"database": "DATABASE_URL", "reservation_store": "SECKILL_REDIS_URL", "cache": "REDIS_URL"}


@contextmanager
def ways_to_servers() -> Iterator[Proxy]:
    """Ways of this test's own, since other tests need the servers meanwhile."""
    proxy = Proxy()
    for name, variable in VARIABLES.items():
        target_port = urlsplit(environment()[variable]).port
        assert target_port
        proxy.add(name, port=free_port(), target_port=target_port)
    yield proxy
    proxy.stop()


@contextmanager
def frozen(proxy: Proxy, name: str) -> Iterator[None]:
    proxy.switch(Mode.STALL, name)
    try:
        yield
    finally:
        proxy.switch(Mode.PASS, name)


def through(proxy: Proxy, *names: str) -> dict[str, str]:
    """The addresses of these servers by the proxy, by their variables."""
    found = {}
    for name in names:
        address = urlsplit(environment()[VARIABLES[name]])
        netloc = address.netloc.rpartition("@")[0] + f"@127.0.0.1:{proxy.port(name)}"
        found[VARIABLES[name]] = address._replace(netloc=netloc).geturl()
    return found
