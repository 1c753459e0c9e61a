"""Plausible bugs, planted into the shop one at a time: the machine must find each."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock
from uuid import uuid4

from django.db.models import Q

from orders.life import intake, lifecycle, settlement
from orders.payments import inbox
from orders.payments.provider.interface import EventKind
from orders.repair import reconcile
from seckill.changes import journal
from seckill.models import SaleChange
from seckill.outbox import outbox
from seckill.store import scripts
from seckill.store.scripts import Script
from tests.orders.properties.payment_machine import PaymentMachine

Plant = Callable[[], AbstractContextManager[Any]]
Steps = Callable[[PaymentMachine], object]


@dataclass(frozen=True)
class Bug:
    """`steps` lead straight to the bug. A search that draws them by chance takes minutes for some bugs."""

    name: str
    plant: Plant
    steps: Steps


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


def on_sale(machine: PaymentMachine) -> tuple[str, int]:
    """The first buyer has an unpaid order for one of three units, the rest are sold, and two people wait for one."""
    taken: tuple[str, int] = machine.publish(quantity=3, limit=2, upcoming=False, first=[(0, 1)], line=[1, 1]).values[0]
    return taken


def an_order_is_cancelled(machine: PaymentMachine) -> None:
    machine.cancel(on_sale(machine), "")


def two_units_come_back(machine: PaymentMachine) -> None:
    """They are all that one buyer may have. The first in line wants both, the second one."""
    taken = machine.publish(quantity=3, limit=2, upcoming=False, first=[(0, 2)], line=[2, 1]).values[0]
    machine.cancel(taken, "")


def two_units_come_back_after_a_lower_limit(machine: PaymentMachine) -> None:
    """The first in line wants both, and may have one."""
    taken = machine.publish(quantity=3, limit=2, upcoming=False, first=[(0, 2)], line=[2]).values[0]
    machine.change(SaleChange.Kind.UNITS_PER_BUYER, 1, "")
    machine.cancel(taken, "")


def an_older_release_cancels(machine: PaymentMachine) -> None:
    on_sale(machine)
    machine.older_release_cancels([])


def a_pass_is_used_twice(machine: PaymentMachine) -> None:
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    machine.retry(machine.reserve(0, 1), 1)


def an_order_could_expire(machine: PaymentMachine) -> None:
    on_sale(machine)
    machine.expire(1, "")


def an_order_is_cancelled_while_the_store_is_empty(machine: PaymentMachine) -> None:
    taken = on_sale(machine)
    machine.fault("empty", "item")
    machine.cancel(taken, "")


def units_are_added_and_the_process_dies(machine: PaymentMachine) -> None:
    on_sale(machine)
    machine.change_is_repeated(SaleChange.Kind.ADD_UNITS, 2, "changes.after_store")


def a_worker_dies_before_its_commit(machine: PaymentMachine) -> None:
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    machine.reserve(0, 1)
    machine.drain(500, False, "intake.before_commit")


def a_worker_dies_with_entries(machine: PaymentMachine) -> None:
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    machine.reserve(0, 1)
    machine.worker_dies_with_entries(1)
    machine.drain(500, True, "")


def the_store_is_killed(machine: PaymentMachine) -> None:
    taken = on_sale(machine)
    machine.fault("kill", "item")
    machine.store_comes_back()
    machine.retry(taken, 1)


def the_store_is_emptied(machine: PaymentMachine) -> None:
    on_sale(machine)
    machine.fault_is_mended("empty", "item")


def a_sold_unit_is_restored(machine: PaymentMachine) -> None:
    machine.pay(on_sale(machine), "")
    machine.fault_is_mended("empty", "item")


def a_worker_dies_and_the_store_is_mended(machine: PaymentMachine) -> None:
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    for buyer in range(3):
        machine.reserve(buyer, 1)
    machine.worker_dies_with_entries(2)
    machine.fault_is_mended("kill", "item")


def a_receipt_is_brought(machine: PaymentMachine) -> None:
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    taken = machine.reserve(0, 1)
    machine.receipt_is_needed(taken, "empty", "item")


def all_is_refunded(machine: PaymentMachine) -> None:
    taken = on_sale(machine)
    (page,) = machine.open_page(taken, is_early=False).values
    machine.page_is_paid(page, "")
    machine.refund_some(taken, 4, str(uuid4()))


def a_refund_fails(machine: PaymentMachine) -> None:
    taken = on_sale(machine)
    (page,) = machine.open_page(taken, is_early=False).values
    machine.page_is_paid(page, "")
    refund = str(uuid4())
    machine.refund_some(taken, 1, refund)
    machine.ask_provider("under way")
    machine.hear(page, EventKind.REFUND_FAILED, part=1, refund=refund)


def a_refund_comes_before_its_capture(machine: PaymentMachine) -> None:
    taken = on_sale(machine)
    (page,) = machine.open_page(taken, is_early=False).values
    # Also of a page that was reported as ended before.
    machine.hear(page, EventKind.EXPIRED)
    machine.hear(page, EventKind.REFUNDED)
    machine.page_is_paid(page, "")
    machine.apply_waiting()


BUGS = [
    Bug(
        "release does not put the units back on sale",
        in_script("release", "redis.call('HINCRBY', item, 'left', units)", ""),
        an_order_is_cancelled,
    ),
    Bug(
        "restore forgets that restored units are not left",
        in_script("restore", "redis.call('HINCRBY', item, 'left', -units)", ""),
        the_store_is_emptied,
    ),
    Bug(
        "reserve trusts a store that was restarted",
        in_script("reserve", "if not string.find(redis.call('INFO'", "if false and not string.find(redis.call('INFO'"),
        the_store_is_killed,
    ),
    Bug(
        "reserve takes a repeated pass for a new one",
        in_script("reserve", "if hold then", "if false then"),
        a_pass_is_used_twice,
    ),
    Bug(
        "a receipt leaves no entry in the outbox",
        in_script("readmit", "'reserved_ms', reserved_ms, 'deadline_ms', deadline_ms)", "'x', reserved_ms)"),
        a_receipt_is_brought,
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
        a_worker_dies_before_its_commit,
    ),
    Bug(
        "nobody takes over the entries of a dead worker",
        in_function(outbox, "next_entries", "entries_from(claimed[1],", "entries_from(claimed[1][:0],"),
        a_worker_dies_with_entries,
    ),
    Bug(
        "an adjustment is applied again when it is repeated",
        in_script("adjust", "if redis.call('HEXISTS', ops, operation_id) == 1 then", "if false then"),
        units_are_added_and_the_process_dies,
    ),
    Bug(
        "units are added in PostgreSQL after the store",
        in_function(journal, "record_pending", "if request.kind == Kind.ADD_UNITS:", "if False:"),
        units_are_added_and_the_process_dies,
    ),
    Bug(
        "taken keeps the units of orders that have ended",
        in_function(lifecycle, "end_unpaid", "        give_back(order_ids=waiting)\n", ""),
        an_order_is_cancelled,
    ),
    Bug(
        "orders expire before their time",
        lambda: mock.patch.object(lifecycle, "OVERDUE", Q()),
        an_order_could_expire,
    ),
    Bug(
        "orders count as settled that a lost store could not be told of",
        in_function(settlement, "tell_ledger", ' if answer != "unavailable"', ""),
        an_order_is_cancelled_while_the_store_is_empty,
    ),
    Bug(
        "a refund of all the money that is left leaves the order as it is",
        in_function(lifecycle, "end_if_all_goes_back", "order.refunded_minor == order.amount_minor", "False"),
        all_is_refunded,
    ),
    Bug(
        "a refund that is reported before its capture is forgotten",
        in_function(inbox, "apply_event", "return EventOutcome.WAITING\n        outcome", "pass\n        outcome"),
        a_refund_comes_before_its_capture,
    ),
    Bug(
        "a failed refund stays counted",
        in_function(lifecycle, "mark_refund_failed", " - lost_minor", ""),
        a_refund_fails,
    ),
    Bug(
        "a reconcile leaves the entries of other workers where they are",
        in_function(intake, "drain_all", "outbox.read_all(", "outbox.read_batch("),
        a_worker_dies_and_the_store_is_mended,
    ),
    Bug(
        "a reconcile does not restore what was sold",
        in_function(
            reconcile,
            "state_for",
            "return RestoreAs.SOLD if status in SOLD",
            "return RestoreAs.ENDED if status in SOLD",
        ),
        a_sold_unit_is_restored,
    ),
    Bug(
        "units that come back are not handed on",
        in_function(settlement, "tell_ledger", "then = then_hand_on(item_id)", "then = None"),
        an_order_is_cancelled,
    ),
    Bug(
        "a later one is handed units before an earlier one",
        in_script("hand_on", "arrival < least", "arrival > least"),
        two_units_come_back,
    ),
    Bug(
        "newcomers overtake those who wait",
        in_script("reserve", "smallest_waiting and left >= math.min(smallest_waiting, per_buyer_max)", "false"),
        an_older_release_cancels,
    ),
    Bug(
        "an item forgets for how many units people wait",
        in_script("hand_on", "redis.call('HSET', item, 'smallest_waiting'", "redis.call('HSET', item, 'x'"),
        an_order_is_cancelled,
    ),
    Bug(
        "a place ends although its buyer may have the units",
        in_script("hand_on", "units >= 1", "units >= 2"),
        an_order_is_cancelled,
    ),
    Bug(
        "a place ends without units because the limit was lowered",
        in_script(
            "hand_on",
            "math.min(tonumber(units), per_buyer_max - of_buyer)",
            "of_buyer + units <= per_buyer_max and tonumber(units)",
        ),
        two_units_come_back_after_a_lower_limit,
    ),
]
