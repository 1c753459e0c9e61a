"""The checks of `manage.py check --deploy` for what a shop needs around it: each says what to set or to run.

Other commands do not run them, since they ask servers. PostgreSQL and the reservation store are asked by
seckill/store/durability.py, which names them when they are away.
"""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.checks import CheckMessage, Error, Warning
from django.db import DatabaseError, connections
from django.http.request import validate_host
from django.utils.translation import gettext as _
from django.utils.translation import to_locale

from shop.configuration.database_connections import DIRECT
from shop.configuration.redis_address import StoreKind, read_address
from shop.configuration.static_files import NeededStaticFiles
from shop.databases.half_migrated import missing_migrations
from shop.http.health import SOURCES, info_of, result_of
from shop.languages.translations import not_compiled
from shop.management.commands.add_languages import columns_of_new_languages

# Where mails go that reach nobody.
LOCAL_MAIL = ("console", "filebased", "locmem", "dummy")
NAMED_MAX = 3
# Valkey says that it is Redis 7.2.
OLDEST_REDIS, OLDEST_POSTGRESQL = 7, 15


def check_addresses(**_context: Any) -> Iterator[CheckMessage]:
    """Where buyers, mails and payment companies find the shop."""
    address = urlsplit(settings.SHOP_URL)
    host = address.hostname or ""
    if is_local(host):
        yield Error(
            _("SHOP_URL is %(url)s: links in mails, and the way back from payment, lead to this machine.")
            % {"url": settings.SHOP_URL},
            hint=_("Set SHOP_URL to the address at which buyers open the shop, such as https://shop.example."),
            id="shop.E005",
        )
    elif not validate_host(host, settings.ALLOWED_HOSTS):
        yield Error(
            _("SHOP_URL is %(url)s, but ALLOWED_HOSTS has no %(host)s: links in mails are answered with 400.")
            % {"url": settings.SHOP_URL, "host": host},
            hint=_("Add %(host)s to ALLOWED_HOSTS.") % {"host": host},
            id="shop.E006",
        )
    if settings.HTTPS and address.scheme != "https":
        yield Error(
            _("SHOP_URL is %(url)s, but HTTPS is 1.") % {"url": settings.SHOP_URL},
            hint=_("Let SHOP_URL begin with https://."),
            id="shop.E007",
        )
    if all(is_local(name.strip("[]")) for name in settings.ALLOWED_HOSTS):
        yield Error(
            _("ALLOWED_HOSTS has names of this machine alone: buyers get 400 for every page."),
            hint=_("Set ALLOWED_HOSTS to the shop's host name, with localhost beside it for health checks."),
            id="shop.E008",
        )
    if not settings.HTTPS:
        yield Warning(
            _("HTTPS is 0: passwords and sessions travel unencrypted."),
            hint=_("Put a proxy in front that ends TLS, and set HTTPS=1."),
            id="shop.W002",
        )
    elif not settings.TRUSTED_PROXIES:
        yield Error(
            _(
                "HTTPS is 1, so a proxy is in front, but TRUSTED_PROXIES is 0: all buyers share the limits of one "
                "address."
            ),
            hint=_("Set TRUSTED_PROXIES to the number of proxies that append to X-Forwarded-For, usually 1."),
            id="shop.E009",
        )


def is_local(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host in ("", "localhost") or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def check_mail(**_context: Any) -> Iterator[CheckMessage]:
    kind = settings.EMAIL_BACKEND.split(".")[-2]
    if kind in LOCAL_MAIL:
        yield Error(
            _("No mail reaches a buyer: EMAIL_URL leads to “%(kind)s”.") % {"kind": kind},
            hint=_("Set EMAIL_URL to your mail server, such as smtp+tls://user:password@mail.example:587."),
            id="shop.E010",
        )
    if "@" not in settings.DEFAULT_FROM_EMAIL or "@localhost" in settings.DEFAULT_FROM_EMAIL:
        yield Warning(
            _("Mails are sent from “%(sender)s”, which other mail servers refuse.")
            % {"sender": settings.DEFAULT_FROM_EMAIL},
            hint=_("Set DEFAULT_FROM_EMAIL to an address of yours, such as Shop <shop@shop.example>."),
            id="shop.W001",
        )


def check_servers(**_context: Any) -> Iterator[CheckMessage]:
    """The cache and the broker answer, and neither is the reservation store. No address leads to a replica."""
    for source, setting in (("cache", "REDIS_URL"), ("broker", "CELERY_BROKER_URL")):
        if (answer := result_of(SOURCES[source])) != "ok":
            yield Error(
                _("The server of %(setting)s does not answer (%(answer)s).") % {"setting": setting, "answer": answer},
                hint=_("Start it, or set %(setting)s to its address and password.") % {"setting": setting},
                id="shop.E011",
            )
    for alias, setting in (("default", "REDIS_URL"), ("seckill", "SECKILL_REDIS_URL")):
        found = info_of(alias)
        version = str(found.get("redis_version", OLDEST_REDIS))
        if int(version.partition(".")[0]) < OLDEST_REDIS:
            yield too_old(setting, version, needed=f"Valkey 7.2, Redis {OLDEST_REDIS}.0")
        if found.get("role", "master") != "master":
            yield Error(
                _("%(setting)s leads to a replica, which takes no writes.") % {"setting": setting},
                hint=_("Set %(setting)s to its primary, or to the sentinels, which know it.") % {"setting": setting},
                id="shop.E016",
            )
    store = server_at(settings.SECKILL_REDIS_URL)
    # The broker is the cache's server where it has no address of its own.
    for url, setting in {settings.BROKER_URL: "CELERY_BROKER_URL", settings.REDIS_URL: "REDIS_URL"}.items():
        if store & server_at(url):
            yield Error(
                _(
                    "%(setting)s leads to the server of SECKILL_REDIS_URL. Sessions and messages would fill the memory "
                    "of the reservation store, and wait for its disk."
                )
                % {"setting": setting},
                hint=_(
                    "Start a second server and set %(setting)s to it. The reservation store is for reservations alone."
                )
                % {"setting": setting},
                id="shop.E012",
            )


def too_old(setting: str, version: str, *, needed: str) -> CheckMessage:
    return Error(
        _("The server of %(setting)s is too old (%(version)s).") % {"setting": setting, "version": version},
        hint=_("Take %(needed)s or a newer one.") % {"needed": needed},
        id="shop.E017",
    )


def server_at(url: str) -> set[tuple[str, str, int]]:
    """The server of an address without its database; behind Sentinel, the primary as each sentinel knows it."""
    if not urlsplit(url).scheme.startswith("redis"):
        return set()
    address = read_address(url)
    name = address.name if address.kind is StoreKind.SENTINEL else ""
    return {(name, host, port) for host, port in address.hosts}


def check_tables(**_context: Any) -> Iterator[CheckMessage]:
    database: Any = connections[DIRECT if DIRECT in connections.settings else "default"]
    try:
        missing = missing_migrations(database)
        columns = [] if missing else [column.name for _table, column in columns_of_new_languages()]
        version: int = database.pg_version
    except DatabaseError:
        # Said by the check of its settings.
        return
    if version < OLDEST_POSTGRESQL * 10_000:
        # Django would leave out unique constraints without a word.
        yield too_old("DATABASE_URL", str(version // 10_000), needed=f"PostgreSQL {OLDEST_POSTGRESQL}")
    if missing:
        yield Error(
            _("The database lacks %(count)s migrations of this release: %(names)s.")
            % {"count": len(missing), "names": some_of(missing)},
            hint=_("Run `python manage.py migrate`."),
            id="shop.E013",
        )
    if columns:
        yield Error(
            _("The database lacks columns for a language of SHOP_LANGUAGES: %(names)s.") % {"names": some_of(columns)},
            hint=_("Run `python manage.py add_languages`."),
            id="shop.E018",
        )


def check_files(**_context: Any) -> Iterator[CheckMessage]:
    """Translations and static files were made for this release."""
    locales = {to_locale(code) for code, _name in settings.LANGUAGES}
    if languages := sorted({path.parts[-3] for path in not_compiled()} & locales):
        yield Error(
            _("The translations are not compiled: %(languages)s. Pages would be in English.")
            % {"languages": ", ".join(languages)},
            hint=_("Run `python manage.py compilemessages`."),
            id="shop.E014",
        )
    storage: Any = staticfiles_storage
    left_out = NeededStaticFiles.ignore_patterns
    names = [name.replace("\\", "/") for finder in get_finders() for name, _storage in finder.list(left_out)]
    if missing := [name for name in names if name not in storage.hashed_files]:
        yield Error(
            _("%(count)s static files are not collected: %(names)s. Pages have no styles and scripts.")
            % {"count": len(missing), "names": some_of(missing)},
            hint=_("Run `python manage.py collectstatic --noinput`."),
            id="shop.E015",
        )


def some_of(names: list[str]) -> str:
    return ", ".join(names[:NAMED_MAX]) + (" …" if len(names) > NAMED_MAX else "")
