"""Keeps processes running until somebody asks to stop, or one of them cannot be kept running."""

import signal
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

from shop.local.process import POLL_SECONDS, Process, ProcessFailed, ending, stop_processes, succeeded

# A process that dies this often within this time has died for good: a restart does not cure it, and a shop that
# looks alive while its worker comes and goes is worse than one that says what is wrong.
_DEATHS_MAX = 3
_DEATHS_SECONDS = 60.0

# Long enough for a cold cache on a slow disk.
_ANSWER_SECONDS = 90.0


class StopRequested(Exception):
    """Ctrl-C, SIGTERM or a closed terminal. Raised where the supervisor waits, never amid a step."""


class Supervisor:
    """Runs processes in the order given, restarts them, and stops them in the opposite order."""

    def __init__(self, *, say: Callable[[str], None]) -> None:
        self._say = say
        self._processes: list[Process] = []
        self._deaths: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_DEATHS_MAX))
        self._requests = 0

    def listen(self) -> None:
        """Take Ctrl-C, SIGTERM and SIGHUP as requests to stop; a second one as a request to kill."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def start(self, *, processes: Sequence[Process]) -> None:
        """Start the processes side by side and return when all of them answer, or have ended well.

        Raises StopRequested, and ProcessFailed when one ends or stays silent.
        """
        started_at = time.monotonic()
        for process in processes:
            self._processes.append(process)
            process.start()
        waiting = list(processes)
        while waiting:
            for process in [process for process in waiting if process.answers()]:
                waiting.remove(process)
                if process.ready is succeeded:
                    self._processes.remove(process)
                self._say(f"[green]✓[/] {process.title} [dim]{time.monotonic() - started_at:.1f} s[/]")
            if waiting and time.monotonic() - started_at > _ANSWER_SECONDS:
                late = waiting[0]
                raise ProcessFailed(f"{late.name} gave no answer within {_ANSWER_SECONDS:.0f} s.\n{late.last_lines()}")
            self.pause()

    def watch(self) -> NoReturn:
        """Restart what dies, until StopRequested, or ProcessFailed for what keeps dying."""
        coming_back: list[Process] = []
        while True:
            for process in self._processes:
                if not process.running:
                    self._restart(process=process)
                    coming_back = [*(other for other in coming_back if other is not process), process]
            for process in [process for process in coming_back if process.ready(process)]:
                coming_back.remove(process)
                self._say(f"[green]✓[/] {process.name} answers again")
            self.pause()

    def pause(self) -> None:
        """Wait a moment. Raises StopRequested."""
        if self._requests:
            raise StopRequested
        time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Stop all processes, last started first. A second request to stop ends the patience."""
        while self._processes:
            group = [self._processes.pop()]
            while self._processes and self._processes[-1].group and self._processes[-1].group == group[0].group:
                group.append(self._processes.pop())
            stop_processes(processes=group, hurry=lambda: self._requests > 1)

    def _restart(self, *, process: Process) -> None:
        """Start a dead process again. Raises ProcessFailed when it dies too often."""
        deaths = self._deaths[process.name]
        deaths.append(time.monotonic())
        died = f"{process.name} ended {ending(exit_code=process.exit_code)}"
        if len(deaths) == _DEATHS_MAX and deaths[-1] - deaths[0] < _DEATHS_SECONDS:
            raise ProcessFailed(
                f"{died}, the {_DEATHS_MAX}rd time within {_DEATHS_SECONDS:.0f} s.\n{process.last_lines()}"
            )
        self._say(f"[yellow]{died}; it is started again.[/]")
        process.kill()  # what a killed process left behind: granian's workers hold the port
        process.start()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._requests += 1
