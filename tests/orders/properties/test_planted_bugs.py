"""The machine can fail: it finds each planted bug within EXAMPLES_MAX examples."""

import os

import pytest
from django.db import IntegrityError
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from orders.repair.reconcile import StillDiffers
from tests.orders.properties.payment_machine import PaymentMachine
from tests.orders.properties.planted_bugs import BUGS, Bug
from tests.orders.properties.world import Cast
from tests.own_store import OwnStore

EXAMPLES_MAX = 400
STEPS = 30

# From the machine, from PostgreSQL's constraints, and from a reconcile.
FOUND = (AssertionError, IntegrityError, StillDiffers)

ALL = "PROPERTY_EXAMPLES" in os.environ


def test_every_bug_can_still_be_planted() -> None:
    """Also those that are tried only on request: the source has changed since they were written."""
    for bug in BUGS:
        with bug.plant():
            pass


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.quick or ALL], ids=lambda bug: bug.name.replace(" ", "-"))
def test_a_planted_bug_is_found(bug: Bug, store_and_cast: tuple[OwnStore, Cast]) -> None:
    store, stage_cast = store_and_cast
    tried = 0

    class Machine(PaymentMachine):
        own_store = store
        cast = stage_cast

        def __init__(self) -> None:
            nonlocal tried
            tried += 1
            super().__init__()

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
    with bug.plant(), pytest.raises(FOUND) as found:
        run_state_machine_as_test(Machine, settings=once)
    print(f"{bug.name}: found by example {tried}: {found.value!r:.300}")
