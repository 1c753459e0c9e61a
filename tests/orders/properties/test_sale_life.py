"""The promises hold, and the shop does what the model says, with all events of a sale in any order.

PROPERTY_EXAMPLES=2000 runs so many examples; CONTRIBUTING.md says how to repeat one that failed.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.orders.properties.payment_machine import PaymentMachine

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "40"))
STEPS = 30


def test_a_sale_keeps_its_promises_whatever_happens(machine_type: type[PaymentMachine]) -> None:
    run_state_machine_as_test(
        machine_type,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
