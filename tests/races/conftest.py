"""Processes that race each other, started once for each file: each imports the whole shop."""

from collections.abc import Iterator

import pytest

from tests.races.racing_processes import RacingProcesses, racing_processes


@pytest.fixture(scope="module")
def racers() -> Iterator[RacingProcesses]:
    with racing_processes() as racers:
        yield racers
