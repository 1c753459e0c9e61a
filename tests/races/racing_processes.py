"""Buyers in several processes, who all start at one barrier."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any

import django

# Processes run in parallel; threads let each process have several commands on the way at the same time.
PROCESSES = 4
THREADS = 8
# Many times what a race takes, for a busy machine.
WAIT_SECONDS = 60

Call = dict[str, Any]
Act = Callable[[Call], Any]


class RacingProcesses:
    """Processes that wait to be sent into a race."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        # Kept in an attribute: its semaphores vanish with it, and a process that starts slowly would not find them.
        self._barrier = spawn.Barrier(PROCESSES * THREADS)
        self._answers: Queue[Any] = spawn.Queue()
        self._orders: list[Queue[Any]] = [spawn.Queue() for _ in range(PROCESSES)]
        self._processes: list[BaseProcess] = [
            spawn.Process(target=serve, args=(orders, self._barrier, self._answers), daemon=True)
            for orders in self._orders
        ]
        for process in self._processes:
            process.start()

    def race(self, act: Act, calls: Sequence[Call]) -> list[Any]:
        """The answers to `act(call)` for each call, in any order; all threads start at the same moment.

        `act` and the calls go to other processes, so they must be importable and picklable.
        """
        for number, orders in enumerate(self._orders):
            orders.put((act, calls[number::PROCESSES]))
        return [self._answers.get(timeout=WAIT_SECONDS) for _ in calls]

    def stop(self) -> None:
        for orders in self._orders:
            orders.put(None)
        for process in self._processes:
            process.join(timeout=WAIT_SECONDS)
            process.kill()


@contextmanager
def racing_processes() -> Iterator[RacingProcesses]:
    racers = RacingProcesses()
    try:
        yield racers
    finally:
        racers.stop()


def serve(orders: "Queue[Any]", barrier: Barrier, answers: "Queue[Any]") -> None:
    """The main function of each process. The addresses of the stores are in the environment."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    django.setup()
    while order := orders.get():
        act, calls = order
        shares = [calls[number::THREADS] for number in range(THREADS)]
        threads = [threading.Thread(target=act_all, args=(act, share, barrier, answers)) for share in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def act_all(act: Act, calls: Sequence[Call], barrier: Barrier, answers: "Queue[Any]") -> None:
    barrier.wait(timeout=WAIT_SECONDS)
    for call in calls:
        try:
            answers.put(act(call))
        except Exception as error:
            answers.put(error)
