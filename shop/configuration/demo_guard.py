"""Keeps load tests, and the payment provider that takes no money, out of a real shop.

`make run` writes LOAD_TESTS=1 into `.stampede/env`, for commands in a second terminal. A server that is started in the
same folder later reads that file too, and must not become a shop where orders are free.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

# `make run` gives this to the processes that it starts, and writes it nowhere. Its values say who can reach the shop.
RUN_VARIABLE = "STAMPEDE_RUN"
LOOPBACK = "loopback"
OPEN_TO_OTHERS = "open"

SIMULATED = "simulated"


def forget_load_tests_of_the_file(*, given: Mapping[str, str], argv: Sequence[str]) -> None:
    """Remove LOAD_TESTS where only the file has it, except from commands and from processes of `make run`.

    `given` is the environment as it was before the file was read.
    """
    of_make_run = given.get(RUN_VARIABLE) in (LOOPBACK, OPEN_TO_OTHERS)
    if "LOAD_TESTS" not in given and not of_make_run and not is_command(argv):
        # From the environment itself: processes that this one starts would take it for given.
        os.environ.pop("LOAD_TESTS", None)


def is_command(argv: Sequence[str]) -> bool:
    """Whether this is a `manage.py` that does one thing and ends."""
    return Path(argv[0]).name == "manage.py" and list(argv[1:2]) != ["runserver"]


def is_trial(given: Mapping[str, str] = os.environ) -> bool:
    """Whether this is a process of a `make run` that only its own machine can reach: no customer is real."""
    return given.get(RUN_VARIABLE) == LOOPBACK


def default_providers(given: Mapping[str, str]) -> list[str]:
    """A shop that only its own machine can reach pretends that orders are paid."""
    return [SIMULATED] if is_trial(given) else []


def check_providers(names: Sequence[str], *, given: Mapping[str, str]) -> None:
    """Raises ImproperlyConfigured for a simulated provider that only the file of `make run` names."""
    if SIMULATED in names and not given.get("PAYMENT_PROVIDERS") and not is_trial(given):
        raise ImproperlyConfigured(
            "PAYMENT_PROVIDERS is “simulated” only because .stampede/env says so. That provider takes no money: every "
            "buyer who presses Pay counts as having paid. Remove it from the file, or, for a shop where nothing is "
            "real, set PAYMENT_PROVIDERS=simulated in the environment of the process."
        )
