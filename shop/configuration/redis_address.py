"""The address of a Redis or Valkey store, read: one server, or several behind Sentinel or as a Cluster.

    redis://[user:password@]host[:6379][/database]
    redis+sentinel://[user:password@]host[:26379],host…/name[/database][?sentinel_password=…&sentinel_username=…]
    redis+cluster://[user:password@]host[:6379],host…

`rediss` in place of `redis` asks for TLS. `name` is the sentinels' name of the primary; user and password are those of
the stores. Names and passwords are percent-encoded.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SENTINEL_PORT = 26379
STORE_PORT = 6379
# What an error calls an address that no setting gave.
STORE = "The address of a Redis store"


class StoreKind(StrEnum):
    """How the address finds the server that has a key."""

    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """`hosts`: the server, the sentinels, or some nodes of the cluster. `name`: the sentinels' name of the primary."""

    url: str = field(repr=False)
    kind: StoreKind
    tls: bool
    hosts: tuple[tuple[str, int], ...]
    username: str | None
    password: str | None = field(repr=False)
    database: int
    name: str
    sentinel_username: str | None
    sentinel_password: str | None = field(repr=False)


class Unreadable(Exception):
    """Why an address cannot be read."""


def read_address(url: str, *, setting: str = STORE) -> RedisAddress:
    """Raises ImproperlyConfigured, with the name of the setting, what an address looks like, and no password."""
    try:
        return read_parts(url)
    except Unreadable as error:
        shown = url.rpartition("@")[2].partition("?")[0]
        raise ImproperlyConfigured(
            f"{setting} cannot be read: {error}, in …{shown}. Use redis://host:6379/0, "
            "redis+sentinel://host:26379,host:26379,host:26379/name, or redis+cluster://host:6379,host:6379 with "
            "user:password@ before the first host."
        ) from None


def read_parts(url: str) -> RedisAddress:
    parts = urlsplit(url)
    base, _plus, suffix = parts.scheme.partition("+")
    if base not in ("redis", "rediss") or suffix not in ("", "sentinel", "cluster"):
        raise Unreadable(f"its scheme is {parts.scheme!r}")
    kind = StoreKind(suffix) if suffix else StoreKind.SINGLE
    user, _at, hosts = parts.netloc.rpartition("@")
    username, _colon, password = user.partition(":")
    name, _slash, database = parts.path.strip("/").partition("/")
    if kind is not StoreKind.SENTINEL:
        name, database = "", name
    query = {field: values[0] for field, values in parse_qs(parts.query).items()}
    if kind is StoreKind.SENTINEL and not name:
        raise Unreadable("the name of the primary is missing")
    if database and not (database.isascii() and database.isdigit()):
        raise Unreadable("its database is no number")
    if kind is StoreKind.CLUSTER and int(database or 0):
        raise Unreadable("a cluster has no databases")
    return RedisAddress(
        url=url,
        kind=kind,
        tls=base == "rediss",
        hosts=tuple(_host(host, kind=kind) for host in hosts.split(",")),
        username=unquote(username) or None,
        password=unquote(password) or None,
        database=int(database or 0),
        name=unquote(name),
        sentinel_username=query.get("sentinel_username"),
        sentinel_password=query.get("sentinel_password"),
    )


def _host(text: str, *, kind: StoreKind) -> tuple[str, int]:
    default = SENTINEL_PORT if kind is StoreKind.SENTINEL else STORE_PORT
    try:
        host = urlsplit(f"//{text}")
        port = host.port
    except ValueError:
        raise Unreadable("the port of a host is no number") from None
    if not host.hostname:
        raise Unreadable("a host is missing")
    return host.hostname, port or default
