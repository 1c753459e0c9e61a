"""A shop in a folder that has seen `make run` is started by other means: nobody gets an order without paying."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.steps.operating import settings_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As `make run` leaves it."""
    (tmp_path / "env").write_text("LOAD_TESTS=1\n")
    return tmp_path


def environment(folder: Path, **given: str) -> dict[str, str]:
    without = {"LOAD_TESTS", "PAYMENT_PROVIDERS", "DEBUG"}
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    return {**inherited, "STAMPEDE_DIRECTORY": str(folder), "DJANGO_SETTINGS_MODULE": "shop.settings", **given}


def start(folder: Path, *argv: str, **given: str) -> tuple[Any, ...]:
    """What a process finds, of Celery if `argv` names no other: load tests, for it and its children; the providers."""
    found = settings_of(environment(folder, **given), argv=argv or ("celery",))
    assert found["LOAD_TESTS"] == ("bench" in found["INSTALLED_APPS"])
    return found["LOAD_TESTS"], found["environ"].get("LOAD_TESTS"), found["PAYMENT_PROVIDERS"]


def test_load_tests_and_simulated_payments_are_for_those_who_ask(folder: Path) -> None:
    granian = ("/venv/lib/granian/__main__.py", "web.rsgi:application")
    cases: list[tuple[tuple[str, ...], dict[str, str], tuple[Any, ...]]] = [
        ((), {}, (False, None, [])),
        (granian, {}, (False, None, [])),
        ((), {"LOAD_TESTS": "1"}, (True, "1", [])),
        ((), {"PAYMENT_PROVIDERS": "simulated"}, (False, None, ["simulated"])),
        # `make run` pretends where nobody else can reach the shop.
        ((), {"STAMPEDE_RUN": "loopback"}, (True, "1", ["simulated"])),
        ((), {"STAMPEDE_RUN": "open"}, (True, "1", [])),
        # Commands in a second terminal find the file. A development server counts as a server.
        (("./manage.py", "stampede"), {}, (True, "1", [])),
        (("./manage.py", "runserver"), {}, (False, None, [])),
    ]
    for argv, given, found in cases:
        assert start(folder, *argv, **given) == found, (argv, given)


def test_a_provider_that_only_the_file_names_is_refused_with_what_to_do(folder: Path) -> None:
    (folder / "env").write_text("LOAD_TESTS=1\nPAYMENT_PROVIDERS=simulated\n")
    for run in ("", "open"):
        with pytest.raises(ImproperlyConfigured, match="^PAYMENT_PROVIDERS is “simulated” only because") as refused:
            start(folder, STAMPEDE_RUN=run)
        assert "set PAYMENT_PROVIDERS=simulated in the environment of the process." in str(refused.value)
