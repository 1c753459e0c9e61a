"""Keeps parts running until somebody asks to stop, or one of them cannot be kept running."""

import signal
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

from shop.local.process import POLL_SECONDS, Part, PartFailed, ended_well, ending, stop_parts

# A part that dies this often within this time has died for good: a restart does not cure it, and a shop that
# looks alive while its worker comes and goes is worse than one that says what is wrong.
_DEATHS_MAX = 3
_DEATHS_SECONDS = 60.0

# Long enough for a cold cache on a slow disk.
_ANSWER_SECONDS = 90.0


class StopRequested(Exception):
    """Ctrl-C, SIGTERM or a closed terminal. Raised where the supervisor waits, never amid a step."""


class Supervisor:
    """Runs parts in the order given, restarts them, and stops them in the opposite order."""

    def __init__(self, *, say: Callable[[str], None]) -> None:
        self._say = say
        self._parts: list[Part] = []
        self._deaths: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_DEATHS_MAX))
        self._requests = 0

    def listen(self) -> None:
        """Take Ctrl-C, SIGTERM and SIGHUP as requests to stop; a second one as a request to kill."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def start(self, *, parts: Sequence[Part]) -> None:
        """Start the parts side by side and return when all of them answer, or have ended well.

        Raises StopRequested, and PartFailed when one ends or stays silent.
        """
        started_at = time.monotonic()
        for part in parts:
            self._parts.append(part)
            part.start()
        waiting = list(parts)
        while waiting:
            for part in [part for part in waiting if part.answers()]:
                waiting.remove(part)
                if part.ready is ended_well:
                    self._parts.remove(part)
                self._say(f"[green]✓[/] {part.title} [dim]{time.monotonic() - started_at:.1f} s[/]")
            if waiting and time.monotonic() - started_at > _ANSWER_SECONDS:
                late = waiting[0]
                raise PartFailed(f"{late.name} gave no answer within {_ANSWER_SECONDS:.0f} s.\n{late.last_lines()}")
            self.pause()

    def watch(self) -> NoReturn:
        """Restart what dies, until StopRequested, or PartFailed for what keeps dying."""
        coming_back: list[Part] = []
        while True:
            for part in self._parts:
                if not part.running:
                    self._restart(part=part)
                    coming_back = [*(other for other in coming_back if other is not part), part]
            for part in [part for part in coming_back if part.ready(part)]:
                coming_back.remove(part)
                self._say(f"[green]✓[/] {part.name} answers again")
            self.pause()

    def pause(self) -> None:
        """Wait a moment. Raises StopRequested."""
        if self._requests:
            raise StopRequested
        time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Stop all parts, last started first. A second request to stop ends the patience."""
        while self._parts:
            group = [self._parts.pop()]
            while self._parts and self._parts[-1].group and self._parts[-1].group == group[0].group:
                group.append(self._parts.pop())
            stop_parts(parts=group, hurry=lambda: self._requests > 1)

    def _restart(self, *, part: Part) -> None:
        """Start a dead part again. Raises PartFailed when it dies too often."""
        deaths = self._deaths[part.name]
        deaths.append(time.monotonic())
        died = f"{part.name} ended {ending(exit_code=part.exit_code)}"
        if len(deaths) == _DEATHS_MAX and deaths[-1] - deaths[0] < _DEATHS_SECONDS:
            raise PartFailed(f"{died}, the {_DEATHS_MAX}rd time within {_DEATHS_SECONDS:.0f} s.\n{part.last_lines()}")
        self._say(f"[yellow]{died}; it is started again.[/]")
        part.kill()  # what a killed process left behind: granian's workers hold the port
        part.start()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._requests += 1
