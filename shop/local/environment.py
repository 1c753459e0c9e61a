"""The environment that `make run` reads, and the one that it writes for the shop's processes."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from shop.configuration.redis_address import StoreKind
from shop.local.private_file import write_private

SERVER_URLS = ("DATABASE_URL", "SECKILL_REDIS_URL", "REDIS_URL")
_PORT_DEFAULT = 8000
# The demo sells in CNY, and its staff enter times as their own clocks show them.
DEMO_TIME_ZONE = "Asia/Shanghai"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class BadEnvironment(Exception):
    """A variable has an impossible value. The message says what to do."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """HOST, PORT, STORE, the directory for data and logs, and the addresses of servers that are brought along.

    `replicas_min` is SECKILL_YES_REPLICAS: how many replicas a primary of our own store must see to accept writes.
    """

    host: str
    port: int
    directory: Path
    own_servers: Mapping[str, str] | None
    allowed_hosts: Sequence[str]
    store: StoreKind = StoreKind.SINGLE
    replicas_min: int = 0

    @property
    def probe_host(self) -> str:
        """The address at which this machine itself reaches the shop."""
        return _WILDCARD_HOSTS.get(self.host, self.host)

    @property
    def allowed_host(self) -> str:
        """A Host header that ALLOWED_HOSTS allows."""
        allowed = [name for name in self.allowed_hosts if name and name[0] not in "*."]
        return allowed[0] if allowed else "127.0.0.1"

    @property
    def url(self) -> str:
        """The shop's address for a browser on this machine."""
        host = self.probe_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def mail_directory(self) -> Path:
        """Where mails to buyers are written, unless EMAIL_URL names a mail server."""
        return self.directory / "mails"

    @property
    def open_to_others(self) -> bool:
        """Whether other machines can reach the port."""
        return self.host not in _LOOPBACK


def read_settings(*, environ: Mapping[str, str], directory: Path) -> RunSettings:
    """Read HOST, PORT, STORE, the three server addresses, and STAMPEDE_DIRECTORY (used by tests).

    Raises BadEnvironment.
    """
    port = environ.get("PORT") or str(_PORT_DEFAULT)
    if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise BadEnvironment(f"PORT is {port!r}, which is not a port: use a number from 1 to 65535.")
    given = {name: environ[name] for name in SERVER_URLS if environ.get(name)}
    missing = [name for name in SERVER_URLS if name not in given]
    if given and missing:
        raise BadEnvironment(
            f"{' and '.join(given)} set, but {' and '.join(missing)} missing. Set all three to use your own "
            "servers, or none of them to let `make run` start its own."
        )
    store = environ.get("STORE") or StoreKind.SINGLE
    if store not in list(StoreKind):
        kinds = ", ".join(StoreKind)
        raise BadEnvironment(f"STORE is {store!r}, which is no kind of reservation store: use one of {kinds}.")
    if given and environ.get("STORE"):
        raise BadEnvironment(
            f"STORE={store} asks `make run` to start a reservation store, but SECKILL_REDIS_URL names one of yours. "
            "Leave one of the two out."
        )
    return RunSettings(
        host=environ.get("HOST") or "127.0.0.1",
        port=int(port),
        directory=Path(environ.get("STAMPEDE_DIRECTORY") or directory).resolve(),
        own_servers=given or None,
        allowed_hosts=environ.get("ALLOWED_HOSTS", "").split(","),
        store=StoreKind(store),
        replicas_min=_replicas_min(environ=environ),
    )


def last_store(*, directory: Path) -> StoreKind | None:
    """Which reservation store the last run in this directory had; None if there was none of our own."""
    url = _read(path=directory / "env").get("SECKILL_REDIS_URL", "")
    suffixes = {"redis": StoreKind.SINGLE, "redis+sentinel": StoreKind.SENTINEL, "redis+cluster": StoreKind.CLUSTER}
    return suffixes.get(url.partition(":")[0])


def _replicas_min(*, environ: Mapping[str, str]) -> int:
    """A value that is no number is for the settings to refuse."""
    text = environ.get("SECKILL_YES_REPLICAS", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def write_environment(*, settings: RunSettings, urls: Mapping[str, str]) -> dict[str, str]:
    """Write `<directory>/env`, which settings.py reads too, so that `manage.py` finds the running servers.

    Secrets are generated once and kept. A value in the real environment wins. Returns the values written.
    """
    path = settings.directory / "env"
    generated = {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "STAMPEDE_ADMIN_PASSWORD": secrets.token_urlsafe(12),
        "STAMPEDE_BUYER_PASSWORD": secrets.token_urlsafe(12),
        "LOAD_TESTS": "1",
        "REHEARSALS": "1",
        "TIME_ZONE": DEMO_TIME_ZONE,
    }
    kept = _read(path=path)
    values = {name: os.environ.get(name) or kept.get(name) or value for name, value in generated.items()}
    # Not kept from the last run: mails go to real people only where this run names a mail server.
    email_url = os.environ.get("EMAIL_URL") or f"filemail:///{quote(str(settings.mail_directory))}"
    # Where payments are reported and links lead: HOST may be another address than the usual one.
    shop_url = os.environ.get("SHOP_URL") or settings.url
    values = {**urls, **values, "EMAIL_URL": email_url, "PORT": str(settings.port), "SHOP_URL": shop_url}
    write_private(path=path, text="".join(f"{name}={value}\n" for name, value in values.items()))
    return values


def _read(*, path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    pairs = (line.partition("=") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs}
