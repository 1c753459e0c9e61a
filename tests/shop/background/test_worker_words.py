"""Every line of a worker's log has a time, also those that it writes when it is asked to stop."""

import pytest

from shop.local.process import stop_processes
from tests.live_shop import ALL_QUEUES, live_processes


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_stops_says_so_with_a_time() -> None:
    with live_processes(names=(ALL_QUEUES,)) as (_url, processes):
        worker = processes[ALL_QUEUES]
        stop_processes(processes=[worker])
        lines = worker.log_since_start().splitlines()
    assert any("Warm shutdown" in line for line in lines)
    assert [line for line in lines if not line.startswith("timestamp=")] == []
