"""The cost of each step of a purchase for one item: time of the caller, and of that the reservation store's own."""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.db.models.functions import Now
from django_redis import get_redis_connection

from bench.measure.speed.part import WrongAnswer
from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Order, OrderStatus
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes

# Calls of each kind; a batch of orders that expire.
CALLS = 2_000
EXPIRING = 250


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds for each reservation, order or call: the median of the caller's time, and the store's mean."""

    caller_us: float
    store_us: float = 0.0


def costs_of(item: SaleItem, *, buyer_ids: list[int]) -> dict[str, Cost]:
    """Measure every step, in the order of a purchase. The item has at least CALLS units left."""
    found = {
        "reserve": measured(lambda buyer_id: reserve(item, buyer_id, Outcome.RESERVED), buyer_ids[:CALLS]),
        "refuse": measured(
            lambda buyer_id: reserve(item, buyer_id, Outcome.LIMIT_REACHED, units=item.per_buyer_max), buyer_ids[:CALLS]
        ),
        "live": measured(lambda _number: ledger.read(item_id=item.pk), range(CALLS)),
    }
    drained = measured(lambda _number: drain(item), range(CALLS // intake.BATCH_MAX))
    found["drain, each order"] = Cost(drained.caller_us / intake.BATCH_MAX, drained.store_us / intake.BATCH_MAX)
    overdue = Order.objects.filter(lines__sale_item=item, status=OrderStatus.AWAITING_PAYMENT)
    Order.objects.filter(pk__in=overdue.values("pk")).update(expires_at=Now() - timedelta(seconds=1))
    expired = measured(lambda _number: expire(), range(CALLS // EXPIRING))
    found["expire, each order"] = Cost(expired.caller_us / EXPIRING, expired.store_us / EXPIRING)
    sweeps = (tasks.sweep_outboxes, tasks.expire_overdue, tasks.settle_orders, tasks.watch_store)
    for sweep in sweeps:
        # Orders of earlier measurements may be past their deadline by now.
        while sweep():
            pass
        found[f"{sweep.name.rpartition('.')[2]}, nothing to do"] = measured(partial(run_sweep, sweep), range(20))
    reservations = Order.objects.filter(lines__sale_item=item).count()
    audited = measured(lambda _number: check(item), range(1))
    found["audit, each reservation"] = Cost(audited.caller_us / reservations, audited.store_us / reservations)
    return found


def measured(step: Callable[[Any], object], arguments: Iterable[Any]) -> Cost:
    client: Any = get_redis_connection("seckill")
    seconds = []
    before_us = store_us(client)
    for argument in arguments:
        started_s = time.perf_counter()
        step(argument)
        seconds.append(time.perf_counter() - started_s)
    return Cost(1e6 * statistics.median(seconds), (store_us(client) - before_us) / len(seconds))


def store_us(client: Any) -> float:
    """Microseconds that the store has spent on commands, without the one that asks."""
    stats = client.info("commandstats")
    # Commands inside of a script are part of the script's time.
    outside = ("evalsha", "eval", "hgetall", "xautoclaim", "xreadgroup", "xack", "xdel", "xlen", "hscan", "xrange")
    return float(sum(stats.get(f"cmdstat_{name}", {}).get("usec", 0) for name in outside))


def run_sweep(sweep: Any, _number: int) -> None:
    if sweep():
        raise WrongAnswer(f"{sweep.name} had something to do")


def reserve(item: SaleItem, buyer_id: int, expected: Outcome, *, units: int = 1) -> None:
    answer = ledger.reserve(
        item_id=item.pk, reservation_id=passes.new_reservation_id(item.pk), buyer_id=buyer_id, units=units
    )
    if answer.outcome is not expected:
        raise WrongAnswer(f"{answer.outcome} instead of {expected}")


def drain(item: SaleItem) -> None:
    if intake.drain_once(item_id=item.pk) != intake.BATCH_MAX:
        raise WrongAnswer("a batch was not full")


def expire() -> None:
    if lifecycle.expire_overdue(batch_max=EXPIRING) != EXPIRING:
        raise WrongAnswer("fewer orders expired")


def check(item: SaleItem) -> None:
    problems = audit(item_id=item.pk).comparison
    if problems.problem_count:
        raise WrongAnswer(f"the audit found {problems.differences or problems.mismatched_totals}")
