"""The nemesis: one trial for each fault. Buyers come, it strikes and heals, all comes to rest, and is judged."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import DatabaseError

from bench.faults.buyer_journey import Demand
from bench.faults.buyer_threads import Crowd
from bench.faults.checker import Findings, first_yes, judge, seconds_of_answers
from bench.faults.fault import Fault, Stage
from bench.faults.history import Event, History
from bench.faults.http_client import Caller
from bench.faults.shop_under_test import CELERY, SERVERS, WEBS, Site
from bench.faults.store_snapshot import Books, read_books
from bench.faults.trial_sale import Stock, Ticket, new_item, retire, tickets_for
from orders.repair.audit import audit
from seckill.ledger import StoreUnreachable
from seckill.models import SaleItem

# P5: everything is sold or back on sale this long after the faults have stopped.
REST_SECONDS_MAX = 60.0
# A refusal while a dependency is down: 2 s, and what a machine of two cores that runs everything adds.
REFUSAL_SECONDS_MAX = 2.0
REFUSAL_SLACK_SECONDS = 1.0
# The last buyer may come late, be patient, and wait for an answer.
CROWD_SECONDS_MAX = 60.0
RECOVERY_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of one fault. `recovery_seconds` is from the heal to a correct answer of each web process."""

    fault: str
    what: str
    variant: str
    findings: Findings
    recovery_seconds: float | None
    rest_seconds: float | None
    slowest_refusal_seconds: float | None
    seconds: float
    words: dict[str, int]

    @property
    def kept(self) -> bool:
        return self.findings.holds


def run_trial(kind: type[Fault], *, site: Site, history: History, seed: int, short: bool = False) -> Trial:
    """One fault on a fresh sale; a `short` one has fewer buyers and holds that end sooner."""
    began_s = time.monotonic()
    dice = random.Random(f"{seed}/{kind.name}")
    stock, demand = (short_stock(kind.stock), short_demand(kind.demand)) if short else (kind.stock, kind.demand)
    site.await_answers(*SERVERS, *WEBS, *CELERY)
    item = new_item(kind.name, stock)
    *tickets, probe_ticket = tickets_for(item, count=demand.buyers + 1)
    ports = [site.proxy.port(f"buyers-{web}") for web in WEBS]
    probe = Caller(trial=kind.name, client="probe", ticket=probe_ticket, ports=ports, history=history)
    probe.reserve(item_id=item.pk, units=1)
    fault = kind(Stage(trial=kind.name, site=site, item=item, history=history, dice=dice))
    crowd = Crowd(
        trial=kind.name, item_id=item.pk, tickets=tickets, demand=demand, ports=ports, history=history, dice=dice
    )
    crowd.start()
    try:
        course = run_its_course(fault, probe=probe, crowd=crowd, site=site)
    except Exception:
        crowd.send_away()
        site.calm()
        raise
    books, rest_seconds = rest(site, tickets=[*tickets, probe_ticket], item_id=item.pk)
    events = history.of(kind.name)
    findings = judge(events, books, excused=excused(fault, events), quantity_moved=kind.quantity_moved)
    times = seconds_of_answers(events, since_s=course.struck_s, until_s=course.healed_s)
    slowest = max(times, default=None) if kind.refusals_are_timed else None
    more = more_broken(fault, books, slowest=slowest, recovered=course.recovery_seconds is not None)
    retire(item)
    return Trial(
        fault=kind.name,
        what=kind.what,
        variant=fault.variant,
        findings=with_words(findings, more),
        recovery_seconds=course.recovery_seconds,
        rest_seconds=rest_seconds,
        slowest_refusal_seconds=slowest,
        seconds=time.monotonic() - began_s,
        words=words_of(events),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """When the fault struck and was healed, by the monotonic clock, and how long it took to answer well again."""

    struck_s: float
    healed_s: float
    recovery_seconds: float | None


def run_its_course(fault: Fault, *, probe: Caller, crowd: Crowd, site: Site) -> Course:
    """Let it strike and heal while buyers buy, wait until they have gone, and put everything right."""
    site.wait(fault.dice.uniform(*fault.begins_seconds))
    struck_s = time.monotonic()
    fault.inject()
    site.wait(fault.lasts_seconds)
    fault.heal()
    healed_s = time.monotonic()
    recovery_seconds = recover(probe, site, item_id=fault.stage.item.pk, healed_s=healed_s)
    site.wait_until(crowd.has_gone, seconds_max=crowd.seconds_max)
    crowd.send_away()
    site.wait_until(crowd.has_gone, seconds_max=CROWD_SECONDS_MAX)
    site.calm()
    return Course(struck_s=struck_s, healed_s=healed_s, recovery_seconds=recovery_seconds)


def short_stock(stock: Stock) -> Stock:
    return replace(stock, quantity=stock.quantity // 2, hold_seconds=min(stock.hold_seconds, 4))


def short_demand(demand: Demand) -> Demand:
    return replace(
        demand,
        buyers=demand.buyers // 2,
        arrival_seconds=min(demand.arrival_seconds, 4.0),
        patience_seconds=min(demand.patience_seconds, 4.0),
    )


def recover(probe: Caller, site: Site, *, item_id: int, healed_s: float) -> float | None:
    """Seconds until each web process has answered as it should; None where one never did.

    The probe repeats a call that was made before the fault: it costs no units, and has a correct answer at all times.
    """
    waiting = set(range(len(WEBS)))

    def all_answered() -> bool:
        for turn in sorted(waiting):
            answer = probe.reserve(item_id=item_id, units=1, turn=turn)
            if answer.status and answer.status < 500:
                waiting.discard(turn)
        return not waiting

    if not site.wait_until(all_answered, seconds_max=RECOVERY_SECONDS_MAX):
        return None
    return time.monotonic() - healed_s


def failed_trial(kind: type[Fault], *, error: Exception, seconds: float) -> Trial:
    """The trial of a harness that failed: it shows nothing, and counts as broken."""
    nothing = Findings(told_yes=0, kept=0, lost=0, not_promised=0, duplicated=0, oversold=0, stuck=0)
    return Trial(
        fault=kind.name,
        what=kind.what,
        variant="",
        findings=replace(nothing, broken=[f"the harness failed: {error!r}"]),
        recovery_seconds=None,
        rest_seconds=None,
        slowest_refusal_seconds=None,
        seconds=seconds,
        words={},
    )


def rest(site: Site, *, tickets: Sequence[Ticket], item_id: int) -> tuple[Books, float | None]:
    """The books once nothing has to happen any more, and after how many seconds; None where something remains."""
    began_s = time.monotonic()
    reservation_ids = [ticket.reservation_id for ticket in tickets]
    while True:
        books: Books | None = None
        try:
            books = read_books(item_id=item_id, reservation_ids=reservation_ids)
        except (StoreUnreachable, DatabaseError):
            if time.monotonic() - began_s > 2 * REST_SECONDS_MAX:
                raise
        if books is not None and not books.unrest():
            return books, time.monotonic() - began_s
        if books is not None and time.monotonic() - began_s > REST_SECONDS_MAX:
            return books, None
        site.wait(LOOK_SECONDS)


def excused(fault: Fault, events: Sequence[Event]) -> set[str]:
    """Yeses to calls sent before the fault destroyed the store's data, which PostgreSQL did not have then."""
    if fault.destroyed_s is None:
        return set()
    sent_s = {event.call: event.at_s for event in events if not event.is_answer}
    return {
        reservation_id
        for reservation_id, yes in first_yes(events).items()
        if sent_s[yes.call] <= fault.destroyed_s and reservation_id not in fault.known
    }


def more_broken(fault: Fault, books: Books, *, slowest: float | None, recovered: bool) -> list[str]:
    """What is wrong besides the findings."""
    words = [*fault.broken(), *books.unrest(), *audited(fault.stage.item)]
    if not fault.struck():
        words.append("the fault did not strike, so nothing is shown")
    if not recovered:
        words.append(f"no correct answer within {RECOVERY_SECONDS_MAX:.0f} s after the fault had healed")
    if slowest is not None and slowest > REFUSAL_SECONDS_MAX + REFUSAL_SLACK_SECONDS:
        words.append(f"a refusal took {slowest:.1f} s")
    return words


def audited(item: SaleItem) -> list[str]:
    """What the shop's own audit finds (`manage.py sale_audit`)."""
    look = audit(item_id=item.pk).look
    return [f"audit: {trouble}" for trouble in [*look.differences, *look.sums]]


def with_words(findings: Findings, more: Sequence[str]) -> Findings:
    return replace(findings, broken=[*findings.broken, *(word for word in more if word not in findings.broken)])


def words_of(events: Sequence[Event]) -> dict[str, int]:
    """How often each answer was given, for each kind of call."""
    counts: dict[str, int] = {}
    for event in events:
        if event.is_answer:
            name = f"{event.kind} {event.word}"
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
