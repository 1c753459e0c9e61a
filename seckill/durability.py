"""Whether both stores keep confirmed reservations and orders through a power cut, judged by the servers' settings.

A sale can be published or resumed only on servers without a weakness (seckill/publication.py,
seckill/changes/journal.py); `manage.py check --deploy` names each weakness.
Only the server, role and database of this process's connection are checked, not replicas or other cluster nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from redis.exceptions import ResponseError

from seckill.store import StoreUnreachable, store


@dataclass(frozen=True, slots=True)
class Weakness:
    """A setting that can lose confirmed reservations or orders. `text` tells the operator what to set."""

    setting: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The safe values of a setting, and what any other value does."""

    safe_values: frozenset[str]
    text: str


STORE_RULES = {
    "appendonly": Rule(
        frozenset({"yes"}),
        gettext_noop(
            "The reservation store does not write to disk (appendonly is “%(value)s”): a restart would lose "
            "confirmed reservations. Set appendonly yes."
        ),
    ),
    "appendfsync": Rule(
        frozenset({"always"}),
        gettext_noop(
            "The reservation store confirms reservations before they are on disk (appendfsync is “%(value)s”): a "
            "power cut would lose confirmed reservations. Set appendfsync always."
        ),
    ),
    "no-appendfsync-on-rewrite": Rule(
        frozenset({"no"}),
        gettext_noop(
            "While the reservation store rewrites its file, reservations are not flushed to disk "
            "(no-appendfsync-on-rewrite is “%(value)s”): a power cut would lose them. Set "
            "no-appendfsync-on-rewrite no."
        ),
    ),
    "maxmemory-policy": Rule(
        frozenset({"noeviction"}),
        gettext_noop(
            "When its memory is full, the reservation store may delete sales and reservations (maxmemory-policy "
            "is “%(value)s”). Set maxmemory-policy noeviction."
        ),
    ),
}
DATABASE_RULES = {
    # All of these wait for this server's disk; they differ in what they require of standbys.
    "synchronous_commit": Rule(
        frozenset({"on", "local", "remote_write", "remote_apply"}),
        gettext_noop(
            "PostgreSQL confirms orders before they are on disk (synchronous_commit is “%(value)s”): a power cut "
            "would lose orders. Set synchronous_commit = on, for the server, this database and this role."
        ),
    ),
    "fsync": Rule(
        frozenset({"on"}),
        gettext_noop(
            "PostgreSQL does not flush to disk (fsync is “%(value)s”): a power cut can destroy the whole "
            "database. Set fsync = on."
        ),
    ),
    "full_page_writes": Rule(
        frozenset({"on"}),
        gettext_noop(
            "PostgreSQL cannot repair a page that a power cut left half written (full_page_writes is “%(value)s”). "
            "Set full_page_writes = on."
        ),
    ),
}


def reason_to_refuse() -> str:
    """Why no sale may open now, and what to set. Empty if nothing is weak, or if weak stores are allowed."""
    if settings.SECKILL_ALLOW_WEAK_DURABILITY:
        return ""
    return " ".join(weakness.text for weakness in reachable_weaknesses())


def allowed_weaknesses() -> list[Weakness]:
    """The weaknesses that are tolerated because SECKILL_ALLOW_WEAK_DURABILITY is set. Staff are warned of them."""
    return reachable_weaknesses() if settings.SECKILL_ALLOW_WEAK_DURABILITY else []


def reachable_weaknesses() -> list[Weakness]:
    """The weaknesses of both stores. An unreachable reservation store is checked later, before the announcement."""
    try:
        return find_weaknesses()
    except StoreUnreachable:
        return weaknesses_of_database()


def find_weaknesses() -> list[Weakness]:
    """The weaknesses of the reservation store and PostgreSQL, in the active language. Raises StoreUnreachable."""
    return [*weaknesses_of_store(), *weaknesses_of_database()]


def weaknesses_of_store() -> list[Weakness]:
    """The reservation store's weaknesses. It counts as weak if they cannot be read. Raises StoreUnreachable."""
    with store() as client:
        try:
            values: Any = client.config_get(*STORE_RULES)
        except ResponseError as refusal:
            # Managed services forbid or rename CONFIG, each with its own error message.
            return [unreadable_settings(answer=str(refusal))]
    if missing := STORE_RULES.keys() - values.keys():
        return [unreadable_settings(answer=f"{', '.join(sorted(missing))}: (nil)")]
    return weaknesses_in(rules=STORE_RULES, values=values)


def weaknesses_of_database() -> list[Weakness]:
    """PostgreSQL's weaknesses, as set for this process's connection. Raises django.db.OperationalError."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(DATABASE_RULES)])
        return weaknesses_in(rules=DATABASE_RULES, values=dict(cursor.fetchall()))


def weaknesses_in(*, rules: Mapping[str, Rule], values: Mapping[str, str]) -> list[Weakness]:
    return [
        Weakness(setting=setting, value=values[setting], text=_(rule.text) % {"value": values[setting]})
        for setting, rule in rules.items()
        if values[setting] not in rule.safe_values
    ]


def unreadable_settings(*, answer: str) -> Weakness:
    text = _(
        "The reservation store does not let the shop read its settings (CONFIG GET: “%(answer)s”), so the shop "
        "cannot check that reservations survive a restart. If its operator guarantees appendonly yes, appendfsync "
        "always, no-appendfsync-on-rewrite no and maxmemory-policy noeviction, start the shop with "
        "SECKILL_ALLOW_WEAK_DURABILITY=1."
    ) % {"answer": answer}
    return Weakness(setting="config", value=answer, text=text)
