"""Keeps processes running until a request to stop, or until one of them keeps failing."""

import signal
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

from shop.local.process import POLL_SECONDS, Process, ProcessFailed, ending, stop_processes, succeeded

# A process that dies this often within this time is not restarted any more: a shop that looks alive while its worker
# keeps crashing is worse than one that stops and says why.
_DEATHS_MAX = 3
_DEATHS_SECONDS = 60.0

# They ask to stop. A script's background jobs and `nohup` start programs with some of them ignored: these have them by
# default again in what we start, since we handle them.
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Enough for a first start on a slow disk.
_ANSWER_SECONDS = 90.0


class StopRequested(Exception):
    """Ctrl-C, SIGTERM or a closed terminal. Raised only where the supervisor waits."""


class Supervisor:
    """Starts processes in the order given, restarts them, and stops them in the opposite order."""

    def __init__(self, *, report: Callable[[str], None]) -> None:
        self._report = report
        self._processes: list[Process] = []
        self._deaths: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_DEATHS_MAX))
        self._died_s: dict[str, float] = {}
        self._requests = 0

    def listen(self) -> None:
        """Treat Ctrl-C, SIGTERM and SIGHUP as requests to stop, and a second one as a request to kill."""
        for number in _STOP_SIGNALS:
            signal.signal(number, self._on_signal)

    def start(self, *, processes: Sequence[Process]) -> None:
        """Start the processes at the same time and return when each answers or has ended successfully.

        Raises StopRequested, and ProcessFailed when one ends or does not answer in time.
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
                self._report(f"[green]✓[/] {process.title} [dim]{time.monotonic() - started_at:.1f} s[/]")
            if waiting and time.monotonic() - started_at > _ANSWER_SECONDS:
                late = waiting[0]
                raise ProcessFailed(f"{late.name} gave no answer within {_ANSWER_SECONDS:.0f} s.\n{late.last_lines()}")
            self.pause()

    def watch(self) -> NoReturn:
        """Restart processes that die. Raises StopRequested, and ProcessFailed for a process that keeps dying.

        A process whose work others take over may die as often as it likes.
        """
        restarted: list[Process] = []
        while True:
            for process in self._processes:
                if not process.running and self._is_due(process=process):
                    self._restart(process=process)
                    restarted = [*(other for other in restarted if other is not process), process]
            for process in [process for process in restarted if process.ready(process)]:
                restarted.remove(process)
                self._report(f"[green]✓[/] {process.name} answers again")
            self.pause()

    def pause(self) -> None:
        """Wait one polling interval. Raises StopRequested."""
        if self._requests:
            raise StopRequested
        time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Stop all processes, last started first. After a second request to stop they are killed at once."""
        while self._processes:
            group = [self._processes.pop()]
            while self._processes and self._processes[-1].group and self._processes[-1].group == group[0].group:
                group.append(self._processes.pop())
            stop_processes(processes=group, hurry=lambda: self._requests > 1)

    def _is_due(self, *, process: Process) -> bool:
        """Whether a dead process is to be started now: at once, or later where others take over."""
        comeback = process.comeback
        if comeback is None:
            return True
        now_s = time.monotonic()
        if process.name not in self._died_s:
            self._report(
                f"[yellow]{process.name} ended {ending(exit_code=process.exit_code)}. "
                f"The others go on; it is started again in {comeback.after_seconds:.0f} s.[/]"
            )
        dead_seconds = now_s - self._died_s.setdefault(process.name, now_s)
        if dead_seconds < comeback.after_seconds:
            return False
        return comeback.may_start() or dead_seconds >= comeback.seconds_max

    def _restart(self, *, process: Process) -> None:
        """Start a dead process again. Raises ProcessFailed when it dies too often."""
        if process.comeback is None:
            self._count_death(process=process)
        self._died_s.pop(process.name, None)
        process.kill()  # its children too: granian's workers hold the port
        process.start()

    def _count_death(self, *, process: Process) -> None:
        deaths = self._deaths[process.name]
        deaths.append(time.monotonic())
        died = f"{process.name} ended {ending(exit_code=process.exit_code)}"
        if len(deaths) == _DEATHS_MAX and deaths[-1] - deaths[0] < _DEATHS_SECONDS:
            raise ProcessFailed(
                f"{died}, the {_DEATHS_MAX}rd time within {_DEATHS_SECONDS:.0f} s.\n{process.last_lines()}"
            )
        self._report(f"[yellow]{died}; restarting it.[/]")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._requests += 1
