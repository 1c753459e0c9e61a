"""The pre-flight of a sale: everything that must be so before it opens, looked at now.

Each line is good, a warning, or a stop: with a stop, buyers would be refused, or could not pay, or the sale would not
open. Settings of the shop are judged by the checks of `manage.py check --deploy`; here is what depends on the sale, on
the servers of this moment, and on the processes that run.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.conf import settings
from django.core.checks import ERROR, CheckMessage, run_checks
from django.core.mail import get_connection
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from django.utils.timesince import timeuntil

from orders.preflight.canaries import silent_queues
from orders.repair.audit import audit, last_result
from seckill.models import Sale
from seckill.publication import CannotPublish, check_publishable, take_out_of_stock
from seckill.store.client import StoreUnreachable, all_members, ask_member

# A clock of another server may be wrong by this much; then the countdowns of pages and mails are visibly wrong.
CLOCKS_APART_SECONDS_MAX = 1.0
# A hold takes 130 bytes (docs/performance.md), and an outbox entry about as much until its order is written.
BYTES_FOR_A_UNIT = 300
# An audit runs every minute. After three of them are missed, beat or its worker does not run.
AUDIT_AGE_SECONDS_MAX = 200
# So long the audit looks at an item here: a sale that has not opened does not change.
AUDIT_PATIENCE_SECONDS = 3.0
# Checks with these ids are ours (shop/apps.py, seckill/apps.py, orders/apps.py) or Django's about security.
CHECKS = ("shop.", "seckill.", "orders.", "security.")


class Verdict(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    STOP = "stop"


class Finding(NamedTuple):
    """What was found about one thing, and what to do about it; `todo` is empty if nothing."""

    verdict: Verdict
    text: str
    todo: str = ""


def preflight(sale: Sale) -> Iterator[Finding]:
    """Each finding as soon as it is there. A server that is away is a stop, and the others are still looked at."""
    for look in LOOKS:
        try:
            yield from look(sale)
        except StoreUnreachable as error:
            todo = "Start it, or mend its address in SECKILL_REDIS_URL. Until then no buyer is told yes."
            yield stop(f"The reservation store does not answer: {error}", todo)
        except DatabaseError as error:
            yield stop(f"PostgreSQL does not answer: {' '.join(str(error).split())}", "Start it, or mend DATABASE_URL.")


def good(text: str) -> Finding:
    return Finding(Verdict.GOOD, text)


def warning(text: str, todo: str) -> Finding:
    return Finding(Verdict.WARNING, text, todo)


def stop(text: str, todo: str) -> Finding:
    return Finding(Verdict.STOP, text, todo)


def look_at_window(sale: Sale) -> Iterator[Finding]:
    now = timezone.now()
    window = f"{in_words(sale.opens_at)} to {in_words(sale.closes_at)} ({settings.TIME_ZONE})"
    if sale.closes_at <= now:
        yield stop(f"The sale has ended: {window}.", "Choose a later end, or copy it into a new sale.")
    elif sale.opens_at <= now:
        yield good(f"The sale is open, {window}. It ends in {timeuntil(sale.closes_at, now)}.")
    else:
        yield good(f"The sale is open from {window}. It opens in {timeuntil(sale.opens_at, now)}.")
    if sale.paused:
        yield stop("The sale is paused.", "Resume it on its page in the admin.")


def in_words(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%A, %d %B %Y, %H:%M}"


def look_at_terms(sale: Sale) -> Iterator[Finding]:
    """A draft is published and taken back in one transaction, so the rules are those of the button."""
    if sale.is_published:
        if waiting := list(sale.items.filter(announced_at=None)):
            names = ", ".join(str(item) for item in waiting)
            yield stop(
                f"Published, but not in the reservation store yet: {names}.", "Look at the stores below, then again."
            )
        else:
            yield good("Published, and the reservation store has all its items.")
    else:
        try:
            with transaction.atomic():
                check_publishable(sale)
                take_out_of_stock(sale, made_by=None)
                transaction.set_rollback(True)
        except CannotPublish as refusal:
            yield stop(str(refusal), "Change it on the sale's page in the admin.")
        else:
            yield warning("The sale is a draft. Nothing speaks against publishing it.", "Publish it in the admin.")
    for item in sale.items.filter(quantity=None).select_related("variant__product"):
        yield warning(f"“{item}” has no limit: every buyer gets units.", "Give it a quantity, unless you mean it.")


def look_at_languages(sale: Sale) -> Iterator[Finding]:
    """Names that a language lacks are shown in another one."""
    products = {item.variant.product for item in sale.items.select_related("variant__product")}
    languages = [code.replace("-", "_") for code, _name in settings.LANGUAGES]
    lacking = [
        f"“{thing}” ({code})" for thing in (sale, *products) for code in languages if not getattr(thing, f"name_{code}")
    ]
    if lacking:
        yield warning(f"Names without a translation: {', '.join(lacking)}.", "Fill them in, in the admin.")
    else:
        yield good("The names of the sale and its products are there in all languages.")


def look_at_settings(_sale: Sale) -> Iterator[Finding]:
    found = [issue for issue in run_checks(include_deployment_checks=True) if str(issue.id).startswith(CHECKS)]
    yield from (finding_of(issue) for issue in found)
    if not found:
        yield good("The settings and the durability of both stores are those of a shop that keeps its promises.")


def finding_of(issue: CheckMessage) -> Finding:
    verdict = Verdict.STOP if issue.level >= ERROR else Verdict.WARNING
    return Finding(verdict, str(issue.msg), str(issue.hint or ""))


def look_at_clocks(_sale: Sale) -> Iterator[Finding]:
    """The store's clock opens the sale; those of this machine and of PostgreSQL are for pages and orders."""
    apart = {}
    for member in all_members():
        before = timezone.now().timestamp()
        seconds, microseconds = ask_member(lambda client: client.time(), client=member.client)
        middle = (before + timezone.now().timestamp()) / 2
        apart[f"the reservation store {member.name}".strip()] = seconds + microseconds / 1e6 - middle
    with connection.cursor() as cursor:
        before = timezone.now().timestamp()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        apart["PostgreSQL"] = float(cursor.fetchone()[0]) - (before + timezone.now().timestamp()) / 2
    wrong = {name: ahead for name, ahead in apart.items() if abs(ahead) > CLOCKS_APART_SECONDS_MAX}
    for name, ahead in wrong.items():
        side = "ahead of" if ahead > 0 else "behind"
        yield warning(
            f"The clock of {name} is {abs(ahead):.1f} s {side} that of this machine.",
            "Let chrony or systemd-timesyncd set the clocks of all hosts. The sale opens by the clock of the store.",
        )
    if not wrong:
        yield good(f"The clocks of {' and of '.join(['this machine', *apart])} differ by less than a second.")


def look_at_memory(sale: Sale) -> Iterator[Finding]:
    needed = sum(item.quantity or 0 for item in sale.items.all()) * BYTES_FOR_A_UNIT
    for member in all_members():
        memory: dict[str, Any] = ask_member(lambda client: client.info("memory"), client=member.client)
        name, used, most = f"The reservation store {member.name}".strip(), memory["used_memory"], memory["maxmemory"]
        if not most:
            yield warning(
                f"{name} has no maxmemory: if the host's memory is full, the system kills it.",
                "Set maxmemory below the memory of its host; with noeviction it then refuses new reservations only.",
            )
        elif used + needed > most:
            yield stop(
                f"{name} uses {megabytes(used)} of {megabytes(most)}, and the sale may need {megabytes(needed)} more.",
                "Raise maxmemory: `CONFIG SET maxmemory …`, and in its configuration.",
            )
        else:
            yield good(f"{name} has room: {megabytes(most - used)} are free, the sale may need {megabytes(needed)}.")


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
                f"Both stores differ about “{item}”: {comparison.problem_count} problems.",
                f"`manage.py sale_audit {item.pk}` names them; docs/reliability.md says what to do.",
            )
    if items and not differing:
        yield good("Both stores agree about the units of each item.")


def look_at_workers(_sale: Sale) -> Iterator[Finding]:
    silent = silent_queues()
    if silent:
        yield stop(
            f"No worker takes messages of these queues: {', '.join(silent)}.",
            "Start a worker for each (README, “Deploying”), or wait until it has caught up.",
        )
    else:
        yield good("A message went through each queue: workers take them.")
    result = last_result()
    age_seconds = timezone.now().timestamp() - result[0] if result else None
    if age_seconds is None or age_seconds > AUDIT_AGE_SECONDS_MAX:
        ago = "is not known" if age_seconds is None else f"was {age_seconds / 60:.0f} minutes ago"
        yield stop(
            f"The last audit {ago}, though beat asks for one every minute: unpaid orders might not expire either.",
            "Start Celery beat, and the worker of the queue repair. On a shop that has just started, wait a minute.",
        )
    else:
        yield good(f"Celery beat runs: the last audit was {age_seconds:.0f} seconds ago.")


def look_at_mail(_sale: Sale) -> Iterator[Finding]:
    mail = get_connection()
    try:
        mail.open()
        mail.close()
    except OSError as error:
        yield stop(f"The mail server does not answer: {error}", "Mend EMAIL_URL. Mails wait, and go out afterwards.")
    else:
        yield good("The mail server answers.")


LOOKS: tuple[Callable[[Sale], Iterator[Finding]], ...] = (
    look_at_window,
    look_at_terms,
    look_at_languages,
    look_at_settings,
    look_at_clocks,
    look_at_memory,
    look_at_stock,
    look_at_workers,
    look_at_mail,
)
