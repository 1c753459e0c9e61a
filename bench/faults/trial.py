"""One trial for each fault: buyers buy, the fault is injected and undone, all work settles, the checker compares."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from django.db import DatabaseError

from bench.faults.buyer_journey import Demand, behaviour_from, journey
from bench.faults.checker import GONE, Findings, check, first_yes, nothing_sold, seconds_of_failed_calls
from bench.faults.fault import Fault, TrialContext
from bench.faults.history import Event, History
from bench.faults.payer import Retry, known
from bench.faults.shop_under_test import CELERY, WEBS, ShopUnderTest
from bench.faults.shopping.goods import Goods, end_forgotten, new_goods, take_off_the_shelf
from bench.faults.shopping.purchase_check import check_purchases, split
from bench.faults.shopping.purchase_snapshot import PurchaseSnapshot, take_purchases
from bench.faults.shopping.shopping_trip import choose_units, shopping_trip
from bench.faults.store_snapshot import StoreSnapshot, take_snapshot
from bench.faults.trial_sale import Stock, credentials_for
from bench.faults.wire.http_client import BROUGHT_BACK, ENDED, NOT_LOST, Answer, BuyerClient
from bench.http_requests import CALL_SECONDS_MAX
from bench.load_sale import retire
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable

# Promised: everything is sold or back on sale this long after the fault is over.
SETTLE_SECONDS_MAX = 60.0
# Promised for a refusal while a dependency is down: 2 s. The slack is for two cores that run everything.
REFUSAL_SECONDS_MAX = 2.0
REFUSAL_SLACK_SECONDS = 1.0
# For the calls that are under way when the buyers are stopped.
LAST_CALLS_SECONDS_MAX = 60.0
RECOVERY_SECONDS_MAX = 60.0
POLL_SECONDS = 0.2
# The shortest hold that the admin accepts.
SHORT_HOLD_SECONDS = 5
# For all receipts together: the items are back on sale by then.
RECEIPTS_SECONDS_MAX = 60.0
# A refused receipt is brought again so often while units are left: some may have come back just after it.
RECEIPT_TRIES = 3
# No other answer to a receipt is right in the end.
RIGHT_ANSWERS = {BROUGHT_BACK, NOT_LOST, ENDED, *GONE}
WRONGLY_REFUSED = "wrongly_refused"
# The work of one thread; called with `started_s` and `stop`.
Journey = Callable[..., None]


class BuyerThreads:
    """Buyers who arrive one after the other and end when they are done, or after `stop`."""

    def __init__(self, *, trial: str, journeys: Sequence[Journey], demand: Demand) -> None:
        self._stop = threading.Event()
        self._errors: list[Exception] = []
        # By then even the last of them should be done.
        self.seconds_max = 4 * demand.retry_seconds_max + demand.arrival_seconds + CALL_SECONDS_MAX
        started_s = time.monotonic()
        self._threads = [
            threading.Thread(target=self._run, args=(journey, started_s), name=f"{trial}-{number}", daemon=True)
            for number, journey in enumerate(journeys)
        ]

    def _run(self, journey: Journey, started_s: float) -> None:
        try:
            journey(started_s=started_s, stop=self._stop)
        except Exception as error:
            self._errors.append(error)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def all_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """No buyer starts another call; `all_done` becomes true when the calls under way have ended."""
        self._stop.set()

    def errors(self) -> list[str]:
        """In words, if a buyer ended with an error: an answer was not what a client can read."""
        found = self._errors
        return [f"{len(found)} buyers ended with an error, such as {found[0]!r}"] if found else []


def sale_journeys(context: TrialContext, *, demand: Demand, clients: Sequence[BuyerClient]) -> list[Journey]:
    """Those of the buyers in the trial's sale."""
    return [
        partial(journey, client, behaviour_from(demand, context.rng), item_id=context.item.pk) for client in clients
    ]


def shopping_trips(context: TrialContext, *, demand: Demand) -> list[Journey]:
    """Those of the buyers in the ordinary shop."""
    trips: list[Journey] = []
    for client in context.shoppers(count=demand.shoppers):
        behaviour = behaviour_from(demand, context.rng)
        units_of = choose_units(behaviour, skus=context.goods.skus, rng=context.rng)
        trips.append(partial(shopping_trip, client, behaviour, units_of=units_of))
    return trips


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one fault.

    `recovery_seconds` is from the end of the fault to a correct answer of each web process; `settle_seconds` from the
    end of the buyers' calls until no work is pending. Each is None if that did not happen in time.
    """

    fault: str
    description: str
    variant: str
    findings: Findings
    recovery_seconds: float | None = None
    settle_seconds: float | None = None
    slowest_refusal_seconds: float | None = None
    seconds: float
    answer_counts: dict[str, int] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        return self.findings.holds


def run_trial(kind: type[Fault], *, shop: ShopUnderTest, history: History, seed: int, short: bool = False) -> Trial:
    """Run one fault on a new sale; a `short` trial has fewer buyers, and holds that expire sooner."""
    began_s = time.monotonic()
    rng = random.Random(f"{seed}/{kind.name}")
    stock, demand = (short_stock(kind.stock), short_demand(kind.demand)) if short else (kind.stock, kind.demand)
    shop.await_answers(*shop.servers, *WEBS, *CELERY)
    shop.await_store()
    goods = new_goods(kind.name, kind.shelf)
    item = kind.open_item(stock, goods)
    *credentials, probe_credentials = credentials_for(item, count=demand.buyers + 1)
    context = TrialContext(trial=kind.name, shop=shop, item=item, goods=goods, history=history, rng=rng)
    probe = BuyerClient(
        trial=kind.name, name="probe", credentials=probe_credentials, ports=context.ports, history=history
    )
    probe.reserve(item_id=item.pk, units=1)
    fault = kind(context)
    clients = context.buyers(credentials)
    journeys = sale_journeys(context, demand=demand, clients=clients) + shopping_trips(context, demand=demand)
    buyers = BuyerThreads(trial=kind.name, journeys=journeys, demand=demand)
    buyers.start()
    try:
        injected_s, undone_s, recovery_seconds = run_fault(fault, probe=probe, buyers=buyers, shop=shop)
    except Exception:
        buyers.stop()
        # Its damage to PostgreSQL or a store would be there for the next trial.
        with suppress(Exception):
            fault.undo()
        shop.reset()
        raise
    refused = bring_receipts(clients, item=item)
    reservation_ids = [of_buyer.reservation_id for of_buyer in [*credentials, probe_credentials]]
    snapshots, settle_seconds = await_settled(
        shop, take=lambda: take_snapshots(item_id=item.pk, reservation_ids=reservation_ids, goods=goods)
    )
    events, of_purchases = split(history.of(kind.name))
    findings = check(
        events, snapshots.sale, may_be_lost=may_be_lost(fault, events), quantity_moved=kind.quantity_moved
    ).plus(check_purchases(of_purchases, snapshots.shop))
    times = seconds_of_failed_calls(events, since_s=injected_s, until_s=undone_s)
    slowest = max(times, default=None) if kind.refusals_are_timed else None
    more = [
        *refused,
        *buyers.errors(),
        *nothing_sold(events, buyers={client.name for client in clients}),
        *further_violations(fault, snapshots, slowest=slowest, recovery_seconds=recovery_seconds),
    ]
    retire(item)
    take_off_the_shelf(goods)
    return Trial(
        fault=kind.name,
        description=kind.description,
        variant=fault.variant,
        findings=with_violations(findings, more),
        recovery_seconds=recovery_seconds,
        settle_seconds=settle_seconds,
        slowest_refusal_seconds=slowest,
        seconds=time.monotonic() - began_s,
        answer_counts=count_answers([*events, *of_purchases]),
    )


def run_fault(
    fault: Fault, *, probe: BuyerClient, buyers: BuyerThreads, shop: ShopUnderTest
) -> tuple[float, float, float | None]:
    """Inject and undo the fault while buyers buy, wait until they are done, and reset the shop.

    When it was injected and undone, by the monotonic clock, and how many seconds the shop took to recover.
    """
    shop.wait(fault.rng.uniform(*fault.starts_after_seconds))
    injected_s = time.monotonic()
    fault.inject()
    shop.wait(fault.duration_seconds)
    fault.undo()
    undone_s = time.monotonic()
    recovery_seconds = await_recovery(probe, shop, item_id=fault.context.item.pk, undone_s=undone_s)
    shop.wait_until(buyers.all_done, seconds_max=buyers.seconds_max)
    buyers.stop()
    shop.wait_until(buyers.all_done, seconds_max=LAST_CALLS_SECONDS_MAX)
    shop.reset()
    return injected_s, undone_s, recovery_seconds


def short_stock(stock: Stock) -> Stock:
    return replace(stock, quantity=stock.quantity // 2, hold_seconds=min(stock.hold_seconds, SHORT_HOLD_SECONDS))


def short_demand(demand: Demand) -> Demand:
    return replace(
        demand,
        buyers=demand.buyers // 2,
        shoppers=demand.shoppers // 2,
        arrival_seconds=min(demand.arrival_seconds, 4.0),
        retry_seconds_max=min(demand.retry_seconds_max, 4.0),
    )


def await_recovery(probe: BuyerClient, shop: ShopUnderTest, *, item_id: int, undone_s: float) -> float | None:
    """Seconds until each web process has answered without a server error; None if one never did.

    The probe repeats a call that was made before the fault: it takes no units, and can always be answered.
    """
    waiting = set(range(len(WEBS)))

    def all_answered() -> bool:
        for attempt in sorted(waiting):
            answer = probe.reserve(item_id=item_id, units=1, attempt=attempt)
            if answer.status and answer.status < 500:
                waiting.discard(attempt)
        return not waiting

    if not shop.wait_until(all_answered, seconds_max=RECOVERY_SECONDS_MAX):
        return None
    return time.monotonic() - undone_s


def failed_trial(kind: type[Fault], *, error: Exception, seconds: float) -> Trial:
    """A trial in which the harness itself failed: it proves nothing, and counts as broken."""
    return Trial(
        fault=kind.name,
        description=kind.description,
        variant="",
        findings=Findings(violations=[f"the harness failed: {error!r}"]),
        seconds=seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshots:
    """The state of the sale in both stores, and of the ordinary shop beside it."""

    sale: StoreSnapshot
    shop: PurchaseSnapshot

    def pending_work(self) -> list[str]:
        return [*self.sale.pending_work(), *self.shop.pending_work()]


def take_snapshots(*, item_id: int, reservation_ids: Sequence[str], goods: Goods) -> Snapshots:
    """Read both, now that no buyer does anything any more. Raises StoreUnreachable and DatabaseError."""
    sale = take_snapshot(item_id=item_id, reservation_ids=reservation_ids)
    end_forgotten(goods)
    return Snapshots(sale=sale, shop=take_purchases(goods))


def await_settled(shop: ShopUnderTest, *, take: Callable[[], Snapshots]) -> tuple[Snapshots, float | None]:
    """Snapshots once no work is pending, and after how many seconds; None if some is still pending at the end."""
    began_s = time.monotonic()
    while True:
        snapshots: Snapshots | None = None
        try:
            snapshots = take()
        except (StoreUnreachable, DatabaseError):
            if time.monotonic() - began_s > 2 * SETTLE_SECONDS_MAX:
                raise
        if snapshots is not None and not snapshots.pending_work():
            return snapshots, time.monotonic() - began_s
        if snapshots is not None and time.monotonic() - began_s > SETTLE_SECONDS_MAX:
            return snapshots, None
        shop.wait(POLL_SECONDS)


def may_be_lost(fault: Fault, events: Sequence[Event]) -> set[str]:
    """Yeses to calls sent before the store lost its data, and that had no order in PostgreSQL by then."""
    sent_s = {event.call: event.at_s for event in events if not event.is_answer}
    return {
        reservation_id
        for reservation_id, yes in first_yes(events).items()
        if fault.forgives(sent_s=sent_s[yes.call], answered_s=yes.at_s)
        and reservation_id not in fault.orders_before_loss
    }


def further_violations(
    fault: Fault, snapshots: Snapshots, *, slowest: float | None, recovery_seconds: float | None
) -> list[str]:
    """Violations that the checker does not look for."""
    violations = [*fault.violations(), *snapshots.pending_work(), *audited(fault.context.item)]
    if not fault.took_effect():
        violations.append("the fault did not take effect, so this trial proves nothing")
    if recovery_seconds is None or recovery_seconds > fault.recovery_seconds_max:
        seconds = min(RECOVERY_SECONDS_MAX, fault.recovery_seconds_max)
        violations.append(f"no correct answer within {seconds:.0f} s after the end of the fault")
    if slowest is not None and slowest > REFUSAL_SECONDS_MAX + REFUSAL_SLACK_SECONDS:
        violations.append(f"a refusal took {slowest:.1f} s")
    return violations


def audited(item: SaleItem) -> list[str]:
    """The findings of the shop's own audit, as `manage.py sale_audit` lists them."""
    comparison = audit(item_id=item.pk).comparison
    return [f"audit: {problem}" for problem in [*comparison.differences, *comparison.mismatched_totals]]


def with_violations(findings: Findings, more: Sequence[str]) -> Findings:
    new = [violation for violation in more if violation not in findings.violations]
    return replace(findings, violations=[*findings.violations, *new])


def count_answers(events: Sequence[Event]) -> dict[str, int]:
    """How often each answer was given to each kind of call."""
    counts: dict[str, int] = {}
    for event in events:
        if event.is_answer:
            name = f"{event.action} {event.outcome}"
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def bring_receipts(clients: Sequence[BuyerClient], *, item: SaleItem) -> list[str]:
    """Buyers come back after the fault, each with the receipt of its yes, needed or not.

    Returns the promises that were broken, in words.
    """
    retry = Retry(seconds=RECEIPTS_SECONDS_MAX, stop=threading.Event())
    answers = [last_answer(client, retry, item=item) for client in clients if client.receipts]
    unanswered = sum(answer is None for answer in answers)
    outcomes = Counter(answer.outcome for answer in answers if answer is not None)
    counts = {
        "receipts had no answer": unanswered,
        "receipts were refused though their units were left": outcomes.pop(WRONGLY_REFUSED, 0),
    }
    counts |= {f"receipts were answered {word}": outcomes[word] for word in sorted(outcomes.keys() - RIGHT_ANSWERS)}
    return [f"{count} {what}" for what, count in counts.items() if count]


def last_answer(client: BuyerClient, retry: Retry, *, item: SaleItem) -> Answer | None:
    for _ in range(RECEIPT_TRIES):
        answer = retry.until(known, lambda attempt: client.bring_receipt(attempt=attempt))
        if answer is None or answer.outcome != "reservation_lost":
            return answer
        units = int(client.receipts[0].split(".")[4])
        counters = ledger.read(item_id=item.pk)
        if counters is None or (counters.left or 0) < units:
            return answer
    return Answer(outcome=WRONGLY_REFUSED)
