"""Plausible bugs, planted into the shop one at a time: the machine must find each."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

from orders.life import intake, lifecycle, settlement
from orders.payments import inbox
from orders.repair import reconcile
from seckill.changes import journal
from seckill.outbox import outbox
from seckill.store import scripts
from seckill.store.scripts import Script

Plant = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Bug:
    """Bugs that are `quick` to find are planted in every run, the others only if PROPERTY_EXAMPLES is set."""

    name: str
    plant: Plant
    quick: bool = False


def in_script(verb: str, right: str, wrong: str) -> Plant:
    """Replace one place in a Lua script."""

    @contextmanager
    def plant() -> Iterator[None]:
        source = getattr(scripts, verb.upper()).source
        assert source.count(right) == 1, f"{verb}.lua has changed: plant the bug anew"
        with mock.patch.object(scripts, verb.upper(), Script(verb, source.replace(right, wrong))):
            yield

    return plant


def in_function(module: ModuleType, name: str, right: str, wrong: str) -> Plant:
    """Replace one place in a function's source."""

    @contextmanager
    def plant() -> Iterator[None]:
        source = inspect.getsource(getattr(module, name))
        assert source.count(right) == 1, f"{module.__name__}.{name} has changed: plant the bug anew"
        namespace = dict(vars(module))
        exec(compile(source.replace(right, wrong), str(module.__file__), "exec"), namespace)
        with mock.patch.object(module, name, namespace[name]):
            yield

    return plant


BUGS = [
    Bug(
        "release does not put the units back on sale",
        in_script("release", "redis.call('HINCRBY', item, 'left', units)", ""),
        quick=True,
    ),
    Bug(
        "restore forgets that restored units are not left",
        in_script("restore", "redis.call('HINCRBY', item, 'left', -units)", ""),
    ),
    Bug(
        "reserve trusts a store that was restarted",
        in_script("reserve", "if not string.find(redis.call('INFO'", "if false and not string.find(redis.call('INFO'"),
    ),
    Bug(
        "reserve takes a repeated pass for a new one",
        in_script("reserve", "if hold then", "if false then"),
        quick=True,
    ),
    Bug(
        "a receipt leaves no entry in the outbox",
        in_script("readmit", "'reserved_ms', reserved_ms, 'deadline_ms', deadline_ms)", "'x', reserved_ms)"),
    ),
    Bug(
        "a read batch is acknowledged before it is committed",
        in_function(
            intake,
            "persist_and_acknowledge",
            "    try:\n        persist(",
            "    outbox.acknowledge(item_id=item_id, entry_ids=[i.entry.id for i in new_orders if i.entry])\n"
            "    try:\n        persist(",
        ),
        quick=True,
    ),
    Bug(
        "nobody takes over the entries of a dead worker",
        in_function(outbox, "next_entries", "entries_from(claimed[1],", "entries_from(claimed[1][:0],"),
        quick=True,
    ),
    Bug(
        "an adjustment is applied again when it is repeated",
        in_script("adjust", "if redis.call('HEXISTS', ops, operation_id) == 1 then", "if false then"),
    ),
    Bug(
        "units are added in PostgreSQL after the store",
        in_function(journal, "record_pending", "if request.kind == Kind.ADD_UNITS:", "if False:"),
    ),
    Bug(
        "taken keeps the units of orders that have ended",
        in_function(lifecycle, "end_unpaid", "        give_back(order_ids=waiting)\n", ""),
        quick=True,
    ),
    Bug(
        "orders expire before their time",
        in_function(lifecycle, "expire_overdue", ", expires_at__lte=Now()", ""),
        quick=True,
    ),
    Bug(
        "orders count as settled that a lost store could not be told of",
        in_function(settlement, "tell_ledger", ' if answer != "unavailable"', ""),
    ),
    Bug(
        "a refund of all the money that is left leaves the order as it is",
        in_function(lifecycle, "end_if_all_goes_back", "order.refunded_minor == order.amount_minor", "False"),
        quick=True,
    ),
    Bug(
        "a refund that is reported before its capture is forgotten",
        in_function(inbox, "apply_event", "return EventOutcome.WAITING\n        outcome", "pass\n        outcome"),
    ),
    Bug(
        "a failed refund stays counted",
        in_function(lifecycle, "mark_refund_failed", " - lost_minor", ""),
    ),
    Bug(
        "a reconcile leaves the entries of other workers where they are",
        in_function(
            reconcile, "collect_reservations", "intake.drain_all(item_id=item_id)", "intake.drain_once(item_id=item_id)"
        ),
    ),
    Bug(
        "a reconcile does not restore what was sold",
        in_function(
            reconcile,
            "state_for",
            "return RestoreAs.SOLD if status in SOLD",
            "return RestoreAs.ENDED if status in SOLD",
        ),
    ),
    Bug(
        "units that come back are not handed on",
        in_function(settlement, "tell_ledger", "then = then_hand_on(item_id)", "then = None"),
        quick=True,
    ),
    Bug(
        "a later one is handed units before an earlier one",
        in_script("hand_on", "arrival < least", "arrival > least"),
    ),
    Bug(
        "newcomers overtake those who wait",
        in_script("reserve", "smallest_waiting and left >= smallest_waiting", "false"),
    ),
    Bug(
        "an item forgets for how many units people wait",
        in_script("hand_on", "redis.call('HSET', item, 'smallest_waiting'", "redis.call('HSET', item, 'x'"),
    ),
    Bug(
        "a place ends although its buyer may have the units",
        in_script("hand_on", "of_buyer + units <= per_buyer_max", "of_buyer + units < per_buyer_max"),
    ),
]
