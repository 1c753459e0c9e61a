"""Looks at the servers: settings and durability, clocks, memory, and whether both stores agree."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import ERROR, CheckMessage, run_checks
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from orders.preflight.finding import Finding, Verdict, chosen_text, good, listed, stop, warning
from orders.repair.audit import audit
from seckill.models import Sale
from seckill.store.client import all_members, ask_member
from shop.configuration.demo_guard import is_trial
from shop.languages.kept_texts import Text, filled

# A clock of another server may be wrong by this much; then the countdowns of pages and mails are visibly wrong.
CLOCKS_APART_SECONDS_MAX = 1.0
# A hold takes 130 bytes (docs/results/speed.md), and an outbox entry about as much until its order is written.
BYTES_FOR_A_UNIT = 300
# So long the audit looks at an item here: a sale that has not opened does not change.
AUDIT_PATIENCE_SECONDS = 3.0
# Checks with these ids are ours (shop/apps.py, seckill/apps.py, orders/apps.py) or Django's about security.
CHECKS = ("shop.", "seckill.", "orders.", "security.")
# What `make run` sets for a shop that only its own machine can reach: its address and the names it answers to, mails in
# files, and payments that are none. As real shops they would be stops.
OF_A_TRIAL = ("shop.E005", "shop.E008", "shop.E010", "orders.E002")


def look_at_settings(_sale: Sale) -> Iterator[Finding]:
    """The checks write their texts at once, so they run once for each language."""
    found: dict[str, list[CheckMessage]] = {}
    for code, _name in settings.LANGUAGES:
        with override(code):
            issues = run_checks(include_deployment_checks=True)
            found[code.replace("-", "_")] = [issue for issue in issues if str(issue.id).startswith(CHECKS)]
    # A server that went away in between is found by one of them only.
    versions = list(zip(*found.values(), strict=False))
    yield from (finding_of(dict(zip(found, version, strict=True))) for version in versions)
    if not versions:
        yield good(_("The settings and the durability of both stores are those of a shop that keeps its promises."))


def finding_of(issue_of: dict[str, CheckMessage]) -> Finding:
    first = next(iter(issue_of.values()))
    verdict = Verdict.STOP if first.level >= ERROR else Verdict.WARNING
    if first.id in OF_A_TRIAL and is_trial():
        verdict = Verdict.LATER
    text = chosen_text({language: str(issue.msg) for language, issue in issue_of.items()})
    todo = chosen_text({language: str(issue.hint or "") for language, issue in issue_of.items()})
    return Finding(verdict, text, todo)


def name_of(server: str) -> Text:
    """`server` is that of a member, empty where the reservation store is one server."""
    return filled(_("the reservation store %(server)s"), server=server) if server else _("the reservation store")


def look_at_clocks(_sale: Sale) -> Iterator[Finding]:
    """The store's clock opens the sale; those of this machine and of PostgreSQL are for pages and orders."""
    apart: list[tuple[Text, float]] = []
    for member in all_members():
        before = timezone.now().timestamp()
        seconds, microseconds = ask_member(lambda client: client.time(), client=member.client)
        middle = (before + timezone.now().timestamp()) / 2
        apart.append((name_of(member.name), seconds + microseconds / 1e6 - middle))
    with connection.cursor() as cursor:
        before = timezone.now().timestamp()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        apart.append(("PostgreSQL", float(cursor.fetchone()[0]) - (before + timezone.now().timestamp()) / 2))
    wrong = [(name, ahead) for name, ahead in apart if abs(ahead) > CLOCKS_APART_SECONDS_MAX]
    for name, ahead in wrong:
        yield warning(
            _("The clock of %(server)s is %(seconds)s s ahead of that of this machine.")
            if ahead > 0
            else _("The clock of %(server)s is %(seconds)s s behind that of this machine."),
            _("Let chrony or systemd-timesyncd set the clocks of all hosts. The sale opens by the clock of the store."),
            server=name,
            seconds=f"{abs(ahead):.1f}",
        )
    if not wrong:
        text = _("The clocks of this machine and of these servers differ by less than a second: %(servers)s.")
        yield good(text, servers=listed(name for name, _ahead in apart))


def look_at_memory(sale: Sale) -> Iterator[Finding]:
    needed = sum(item.quantity or 0 for item in sale.items.all()) * BYTES_FOR_A_UNIT
    for member in all_members():
        memory: dict[str, Any] = ask_member(lambda client: client.info("memory"), client=member.client)
        used, most = memory["used_memory"], memory["maxmemory"]
        values = {
            "server": name_of(member.name),
            "used": megabytes(used),
            "most": megabytes(most),
            "free": megabytes(most - used),
            "needed": megabytes(needed),
        }
        if not most:
            yield warning(
                _("No maxmemory is set for %(server)s: if the host's memory is full, the system kills it."),
                _("Set maxmemory below the memory of its host; with noeviction it then refuses new reservations only."),
                **values,
            )
        elif used + needed > most:
            yield stop(
                _("Of its %(most)s of memory, %(used)s are used by %(server)s, and the sale may need %(needed)s more."),
                _("Raise maxmemory: `CONFIG SET maxmemory …`, and in its configuration."),
                **values,
            )
        else:
            text = _("There is room in %(server)s: %(free)s are free, the sale may need %(needed)s.")
            yield good(text, **values)


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def look_at_stock(sale: Sale) -> Iterator[Finding]:
    """Both stores agree about each item that is published."""
    items = list(sale.items.exclude(announced_at=None).filter(archived_at=None).select_related("variant__product"))
    differing = 0
    for item in items:
        comparison = audit(item_id=item.pk, patience_seconds=AUDIT_PATIENCE_SECONDS).comparison
        if comparison.problem_count:
            differing += 1
            yield stop(
                _("Both stores differ about “%(item)s”: %(count)s problems."),
                _("`manage.py sale_audit %(id)s` names them; what to do: StampedeStoresDisagree in docs/runbook.md."),
                item=item,
                count=comparison.problem_count,
                id=item.pk,
            )
    if items and not differing:
        yield good(_("Both stores agree about the units of each item."))
