"""Whether both stores keep confirmed reservations and orders through a power cut, judged by the servers' settings.

A sale can be published or resumed only on servers without a weakness (seckill/publication.py,
seckill/changes/journal.py); `manage.py check --deploy` names each weakness.
Every server of the reservation store is checked, replicas too, since each of them may become a primary. For PostgreSQL,
the server, role and database of this process's connection are checked.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.db import OperationalError, connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from redis import Redis
from redis.exceptions import ResponseError

from seckill.store.client import (
    Member,
    StoreUnreachable,
    all_members,
    ask_member,
    is_behind_sentinels,
    online_replicas,
    sentinel_settings,
)
from seckill.store.yes_replicas import yes_replicas, yes_replicas_now


@dataclass(frozen=True, slots=True)
class Weakness:
    """A setting that can lose confirmed reservations or orders. `text` tells the operator what to set.

    `node` names the server, where the reservation store has several.
    """

    setting: str
    value: str
    text: str
    node: str = ""


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
# These are read too, for `weaknesses_of_promises`.
REPLICA_SETTINGS = ("min-replicas-to-write", "repl-backlog-ttl")
# Where a yes waits for some of the replicas, the sentinels choose by offsets that are up to 5 s old, and a primary may
# say yes for a second after its last sign of life: docs/reliability.md has the reasoning.
DOWN_AFTER_MS_MIN = 7_000
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
# Every setting that a weakness may name.
JUDGED_SETTINGS = (
    *STORE_RULES,
    *REPLICA_SETTINGS,
    "replicas",
    "replica-priority",
    "down-after-milliseconds",
    "unreachable",
    "config",
    *DATABASE_RULES,
)


def check_durability(**_context: Any) -> list[CheckMessage]:
    """The check of `manage.py check --deploy`: one error per weakness, or a warning if weak stores are allowed.

    Other commands do not run it, since it needs both stores.
    """
    weaknesses: list[Weakness] = []
    more: list[CheckMessage] = []
    try:
        weaknesses += weaknesses_of_store()
    except StoreUnreachable as error:
        hint = _("Start it, or set %(setting)s to its address and password.") % {"setting": "SECKILL_REDIS_URL"}
        more.append(
            Error(
                _("The reservation store does not answer: %(error)s") % {"error": error}, hint=hint, id="seckill.E002"
            )
        )
    try:
        weaknesses += weaknesses_of_database()
    except OperationalError as error:
        hint = _("Start it, or set %(setting)s to its address and password.") % {"setting": "DATABASE_URL"}
        more.append(Error(_("PostgreSQL does not answer: %(error)s") % {"error": error}, hint=hint, id="seckill.E003"))
    more += [Warning(text, id="seckill.W002") for text in advice()]
    if settings.SECKILL_ALLOW_WEAK_DURABILITY:
        allowed = _("Sales can open only because SECKILL_ALLOW_WEAK_DURABILITY is set.")
        return [*(Warning(weakness.text, hint=allowed, id="seckill.W001") for weakness in weaknesses), *more]
    refused = _("Until then no sale can be published.")
    return [*(Error(weakness.text, hint=refused, id="seckill.E001") for weakness in weaknesses), *more]


def reason_to_refuse() -> str:
    """Why no sale may open now, and what to set. Empty if nothing is weak, or if weak stores are allowed."""
    if settings.SECKILL_ALLOW_WEAK_DURABILITY:
        return ""
    return " ".join(weakness.text for weakness in reachable_weaknesses())


def allowed_weaknesses() -> list[Weakness]:
    """The weaknesses that are tolerated because SECKILL_ALLOW_WEAK_DURABILITY is set. Staff are warned of them."""
    return reachable_weaknesses() if settings.SECKILL_ALLOW_WEAK_DURABILITY else []


def advice() -> list[str]:
    """What a manager should know who opens a sale on these stores, and what refuses none. Raises nothing."""
    wanted, most = yes_replicas_now(), settings.SECKILL_YES_REPLICAS
    if wanted < most:
        text = _(
            "A yes waits for %(wanted)d replicas, as staff have chosen, and not for %(most)d (SECKILL_YES_REPLICAS): "
            "the loss of a primary loses the reservations that no replica has."
        ) % {"wanted": wanted, "most": most}
        return [outdated_choice() or text]
    if wanted or settings.SECKILL_STORE_DURABILITY:
        return []
    try:
        values = list(known_settings("min-replicas-to-write"))
    except StoreUnreachable:
        return []
    text = _(
        "The reservation store has replicas, and no yes waits for one (SECKILL_YES_REPLICAS is 0). A primary that is "
        "cut off from its replicas goes on saying yes until another one has taken over, and those buyers lose their "
        "reservations. Set SECKILL_YES_REPLICAS, or at least min-replicas-to-write 1 on each server of the reservation"
        " store."
    )
    return [text] if len(values) > 1 and "0" in values else []


def outdated_choice() -> str:
    """A sentence that asks staff to take their choice back, once SECKILL_YES_REPLICAS replicas are connected again;
    otherwise empty. Raises nothing.
    """
    wanted, most = yes_replicas_now(), settings.SECKILL_YES_REPLICAS
    if wanted >= most:
        return ""
    try:
        if any(good_replicas(member) < most for member in all_members() if member.primary):
            return ""
    except StoreUnreachable:
        return ""
    return _(
        "A yes waits for %(wanted)d replicas, as staff have chosen, but %(most)d are connected again. Set "
        "min-replicas-to-write %(most)d on each server of the reservation store, and take the choice back: manage.py "
        "yes_replicas --as-set"
    ) % {"wanted": wanted, "most": most}


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
    """The weaknesses of each server of the reservation store. One that hides its settings counts as weak.

    Raises StoreUnreachable if no server answers, or the only one.
    """
    if settings.SECKILL_STORE_DURABILITY:
        # Its operator keeps what it has confirmed, and forbids CONFIG.
        return []
    members = all_members()
    found: list[Weakness] = []
    silent: list[StoreUnreachable] = []
    for member in members:
        try:
            found += [of_node(member, weakness) for weakness in weaknesses_of_member(member)]
        except StoreUnreachable as error:
            silent.append(error)
            # A replica that is away loses nothing. The primary says whether enough replicas are connected.
            if member.primary:
                found.append(of_node(member, silent_node()))
    if len(silent) == len(members):
        raise silent[0]
    return found


def of_node(member: Member, weakness: Weakness) -> Weakness:
    """The weakness with the name of its server, where there are several."""
    if not member.name:
        return weakness
    text = _("Node %(node)s: %(text)s") % {"node": member.name, "text": weakness.text}
    return replace(weakness, node=member.name, text=text)


def weaknesses_of_member(member: Member) -> list[Weakness]:
    """The weaknesses of one server of the reservation store. Raises StoreUnreachable."""

    def read(client: Redis) -> Any:
        try:
            return client.config_get(*STORE_RULES, *REPLICA_SETTINGS)
        except ResponseError as refusal:
            # Managed services forbid or rename CONFIG, each with its own error message.
            return unreadable_settings(answer=str(refusal))

    values = ask_member(read, client=member.client)
    if isinstance(values, Weakness):
        return [values]
    if missing := STORE_RULES.keys() - values.keys():
        return [unreadable_settings(answer=f"{', '.join(sorted(missing))}: (nil)")]
    found = weaknesses_in(rules=STORE_RULES, values=values)
    wanted = yes_replicas_now()
    if wanted < settings.SECKILL_YES_REPLICAS:
        found += weaknesses_of_fewer(member, values)
    elif wanted:
        found += weaknesses_of_promises(member, values)
    return found


def weaknesses_of_fewer(member: Member, values: Mapping[str, str]) -> list[Weakness]:
    """Why a primary refuses each yes although staff have chosen fewer replicas than SECKILL_YES_REPLICAS.

    Another primary may have all of its replicas, and the setting for them.
    """
    if not member.primary:
        return []
    wanted, least, count = yes_replicas(), int(values.get("min-replicas-to-write", 0)), good_replicas(member)
    if count >= max(wanted, least):
        return []
    text = _(
        "A yes waits for %(wanted)d replicas, as staff have chosen, and min-replicas-to-write of this primary is "
        "“%(least)d”. It has %(count)d replicas, so it refuses each reservation: neither number may be higher than the "
        "number of its replicas."
    ) % {"wanted": wanted, "least": least, "count": count}
    return [Weakness(setting="min-replicas-to-write", value=str(least), text=text)]


def weaknesses_of_promises(member: Member, values: Mapping[str, str]) -> list[Weakness]:
    """Settings that lose a yes which waited for `yes_replicas` replicas, or that make each yes fail."""
    wanted = yes_replicas()
    found = []
    for setting, needed in (("min-replicas-to-write", str(wanted)), ("repl-backlog-ttl", "0")):
        if values.get(setting) != needed:
            text = _(
                "A yes waits for %(wanted)d replicas (SECKILL_YES_REPLICAS), but %(setting)s is “%(value)s”. Set "
                "%(setting)s %(needed)s on each server of the reservation store."
            ) % {"wanted": wanted, "setting": setting, "value": values.get(setting), "needed": needed}
            found.append(Weakness(setting=setting, value=str(values.get(setting)), text=text))
    if member.primary:
        replication = ask_member(lambda client: client.info("replication"), client=member.client)
        count = len(list(online_replicas(replication)))
        # Of 2n + 1 servers, n + 1 have each yes, and any n + 1 that choose a new primary have one of these among them.
        # In a Cluster the primaries of other items choose, so there all replicas must have it.
        count_max = 2 * wanted if is_behind_sentinels() else wanted
        if not wanted <= count <= count_max:
            text = _(
                "A yes waits for %(wanted)d replicas (SECKILL_YES_REPLICAS), and %(count)d are connected. With fewer, "
                "nobody can reserve; with more than %(count_max)d, one may be promoted that does not have every yes."
            ) % {"wanted": wanted, "count": count, "count_max": count_max}
            found.append(Weakness(setting="replicas", value=str(count), text=text))
        elif count > wanted:
            found += weaknesses_of_choice()
    return found


def weaknesses_of_choice() -> list[Weakness]:
    """What would make the sentinels choose a replica without every yes. A server that does not answer is not judged."""
    found = []
    if len(priorities := set(known_settings("replica-priority"))) > 1:
        text = _(
            "The sentinels would choose a new primary by its priority (replica-priority is “%(value)s”) before they "
            "look at which replica has every yes. Set the same replica-priority on each server of the reservation "
            "store."
        ) % {"value": ", ".join(sorted(priorities))}
        found.append(Weakness(setting="replica-priority", value=", ".join(sorted(priorities)), text=text))
    delays = [int(sentinel["down-after-milliseconds"]) for sentinel in sentinel_settings()]
    if delays and min(delays) < DOWN_AFTER_MS_MIN:
        text = _(
            "A yes waits for some of the replicas, so the sentinels must choose one that has it. They may choose by "
            "old figures, since down-after-milliseconds is %(value)d. Set it to %(needed)d or more on each sentinel, "
            "or let a yes wait for all replicas."
        ) % {"value": min(delays), "needed": DOWN_AFTER_MS_MIN}
        found.append(Weakness(setting="down-after-milliseconds", value=str(min(delays)), text=text))
    return found


def good_replicas(member: Member) -> int:
    """How many replicas a primary has. With min-replicas-to-write it says itself which of them are not frozen."""
    replication = ask_member(lambda client: client.info("replication"), client=member.client)
    return int(replication.get("min_slaves_good_slaves", len(list(online_replicas(replication)))))


def known_settings(name: str) -> Iterator[str]:
    """The value that each server of the store has, of those that answer and let it be read. Raises StoreUnreachable."""

    def read(client: Redis) -> Any:
        try:
            return client.config_get(name).get(name)
        except ResponseError:
            return None

    for member in all_members():
        with suppress(StoreUnreachable):
            if value := ask_member(read, client=member.client):
                yield value


def silent_node() -> Weakness:
    text = _("This server of the reservation store does not answer. Its items cannot be sold until it does.")
    return Weakness(setting="unreachable", value="", text=text)


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
