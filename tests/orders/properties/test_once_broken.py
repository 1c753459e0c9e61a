"""Sequences of steps that once broke a promise."""

from collections.abc import Iterator

import pytest

from tests.orders.properties.payment_machine import PaymentMachine


@pytest.fixture
def machine(machine_type: type[PaymentMachine]) -> Iterator[PaymentMachine]:
    """A machine that a test drives step by step; its invariants are checked at the end."""
    driven = machine_type()
    yield driven
    driven.check()
    driven.come_to_rest()
    driven.everything_left_can_be_sold()


def test_a_pass_that_asks_for_more_after_a_loss_and_then_the_old_backup_comes_back(machine: PaymentMachine) -> None:
    """The hold in the backup has fewer units than the order that the same pass has made since."""
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    machine.fault("back up", "item")
    taken = machine.reserve(0, 1)
    machine.fault("back up", "item")
    machine.fault("empty", "item")
    machine.reconcile("")
    machine.retry(taken, 2)
    machine.drain(500, False, "")
    machine.fault("put back", "item")
    machine.reconcile("")


def test_an_ended_pass_after_its_hold_was_lost_with_all_the_others(machine: PaymentMachine) -> None:
    """Nothing was held or sold, so the lost holds went unnoticed, and an expired order's pass could reserve again."""
    machine.publish(quantity=3, limit=2, upcoming=False, first=[])
    taken = machine.reserve(0, 1)
    machine.drain(500, False, "")
    machine.deadline_passes(taken)
    machine.expire(500, "")
    machine.fault("lose a key", "holds")
    machine.retry(taken, 1)
    machine.reconcile("")
    machine.retry(taken, 1)
