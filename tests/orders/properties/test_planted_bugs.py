"""The machine can fail: it finds each planted bug by the bug's steps, and by a search if PROPERTY_EXAMPLES is set."""

import os

import pytest
from django.db import IntegrityError
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from orders.repair.reconcile import StillDiffers
from tests.orders.properties.payment_machine import PaymentMachine
from tests.orders.properties.planted_bugs import BUGS, Bug, Steps

# A search gives up after so many.
EXAMPLES_MAX = 400
STEPS = 30

# From the machine, from PostgreSQL's constraints, and from a reconcile.
FOUND = (AssertionError, IntegrityError, StillDiffers)

SEARCHES = "PROPERTY_EXAMPLES" in os.environ


def test_without_a_bug_its_steps_break_nothing(machine_type: type[PaymentMachine]) -> None:
    for steps in {bug.steps for bug in BUGS}:
        take(steps, machine_type())


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "-"))
def test_a_planted_bug_is_found(bug: Bug, machine_type: type[PaymentMachine]) -> None:
    with bug.plant(), pytest.raises(FOUND) as found:
        search(machine_type) if SEARCHES else take(bug.steps, machine_type())
    print(f"{bug.name}: {found.value!r:.300}")


def take(steps: Steps, machine: PaymentMachine) -> None:
    try:
        steps(machine)
        machine.check()
    finally:
        machine.teardown()


def search(machine_type: type[PaymentMachine]) -> None:
    once = settings(
        max_examples=EXAMPLES_MAX,
        stateful_step_count=STEPS,
        deadline=None,
        # The same examples each time, and not shrunk, since nobody reads them.
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine_type, settings=once)
