"""One child process of `make run`: how it starts, how we know that it answers, how it ends.

This module imports no Django: the embedded servers have to run before the settings can be read.
"""

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict

from shop.local.ports import PORT_ATTEMPTS

# prctl(2): "send me this signal when my parent dies". The library is loaded here, because nothing may be imported or
# loaded between fork and exec.
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

# A longer log is renamed at the next start, and one former log is kept.
_LOG_BYTES_MAX = 10_000_000

POLL_SECONDS = 0.05

_START_SECONDS = 60.0


class ProcessFailed(Exception):
    """A process ended, or did not answer in time. The message is for the person at the terminal."""


class PortTaken(ProcessFailed):
    """It ended because another program listens on its port already."""


def succeeded(process: "Process") -> bool:
    """`ready` of a process that ends by itself, such as a migration."""
    return process.exit_code == 0


@dataclass(frozen=True, kw_only=True)
class Comeback:
    """How a process is started again whose work others take over when it dies: later, and as often as it dies.

    `may_start` is asked from `after_seconds` on, and prepares the start; after `seconds_max` it is started anyway.
    """

    after_seconds: float
    seconds_max: float
    may_start: Callable[[], bool] = lambda: True


@dataclass(kw_only=True)
class Process:
    """A supervised process.

    `ready` is called again and again until it returns True, so it must not block for long. A process that ends by
    itself has `ready=succeeded`. Processes of one `group` that stand next to each other are stopped together.
    """

    name: str
    title: str
    argv: Sequence[str]
    log_path: Path
    ready: Callable[["Process"], bool]
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(os.environ))
    directory: Path | None = None
    account: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    # Sent by the kernel when we are killed with -9; None: the stop signal. No process is left that could insist then.
    death_signal: signal.Signals | None = None
    stop_seconds: float = 4.0
    group: str = ""
    lock_fds: Sequence[int] = ()
    # None: restart at once; stop everything after repeated deaths.
    comeback: Comeback | None = None

    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _log_offset: int = field(default=0, init=False)

    def start(self) -> None:
        """Start the process in a session of its own, so that the terminal's Ctrl-C does not reach it.

        Call it from the main thread only: the kernel sends the death signal when the *thread* that forked ends.
        """
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        if self.log_path.exists() and self.log_path.stat().st_size > _LOG_BYTES_MAX:
            self.log_path.replace(self.log_path.with_suffix(".old.log"))
        with self.log_path.open("ab") as log:
            self._log_offset = log.tell()
            self._child = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env=dict(self.environment),
                pass_fds=tuple(self.lock_fds),
                start_new_session=True,
                preexec_fn=_prepare_child(death_signal=self.death_signal or self.stop_signal),
                **as_account(name=self.account),
            )

    @property
    def pid(self) -> int | None:
        """The process id, or None before the first start."""
        return self._child.pid if self._child else None

    @property
    def exit_code(self) -> int | None:
        """How the process ended (negative: by that signal); None while it runs or before it was started."""
        return self._child.poll() if self._child else None

    @property
    def running(self) -> bool:
        """Whether the process exists. It may not answer yet."""
        return self._child is not None and self._child.poll() is None

    def answers(self) -> bool:
        """Whether the process is ready, or has ended successfully. Raises ProcessFailed when it has failed."""
        if not self.running and not (self.ready is succeeded and self.exit_code == 0):
            kind = PortTaken if "Address already in use" in self.log_since_start() else ProcessFailed
            raise kind(f"{self.name} ended {ending(exit_code=self.exit_code)}.\n{self.last_lines()}")
        return self.ready(self)

    def log_since_start(self) -> str:
        """The output of the process since its last start."""
        return self._log_from(self._log_offset)

    def last_lines(self, *, lines_max: int = 15) -> str:
        """The end of the log, indented, and the path of the whole log. One just started again has said nothing yet."""
        lines = (self.log_since_start().strip() or self._log_from(0).strip()).splitlines()[-lines_max:]
        return "\n".join([*(f"    {line}" for line in lines), f"  The whole log: {self.log_path}"])

    def _log_from(self, offset: int) -> str:
        with self.log_path.open("rb") as log:
            log.seek(offset)
            return log.read().decode(errors="replace")

    def ask_to_stop(self) -> None:
        """Send the stop signal. Does not wait."""
        if self._child and self.running:
            self._child.send_signal(self.stop_signal)

    def kill(self) -> None:
        """Kill the process and everything that it started in its session, and reap it."""
        if self._child is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()


def start_processes(*, processes: Sequence[Process]) -> None:
    """Start all processes at the same time and return when each answers.

    Raises ProcessFailed when one ends or does not answer in time; the others then still run.
    """
    for process in processes:
        process.start()
    deadline = time.monotonic() + _START_SECONDS
    for process in processes:
        while not process.answers():
            if time.monotonic() > deadline:
                raise ProcessFailed(
                    f"{process.name} gave no answer within {_START_SECONDS:.0f} s.\n{process.last_lines()}"
                )
            time.sleep(POLL_SECONDS)


def start_on_free_ports(*, prepare: Callable[[], None], start: Callable[[], None], stop: Callable[[], None]) -> None:
    """`prepare` chooses ports, which other programs may take before `start` uses them: then `stop`, and once more.

    Raises what they raise, and PortTaken after PORT_ATTEMPTS.
    """
    for attempts_left in reversed(range(PORT_ATTEMPTS)):
        prepare()
        try:
            return start()
        except PortTaken:
            stop()
            if not attempts_left:
                raise


def stop_processes(*, processes: Sequence[Process], hurry: Callable[[], bool] = lambda: False) -> None:
    """Ask all processes to stop, wait up to `stop_seconds` of each, then kill those that still run.

    As soon as `hurry` returns True (a second Ctrl-C), nothing is waited for any more.
    """
    for process in processes:
        process.ask_to_stop()
    asked_s = time.monotonic()
    for process in processes:
        while process.running and not hurry() and time.monotonic() - asked_s < process.stop_seconds:
            time.sleep(POLL_SECONDS)
        process.kill()


def ending(*, exit_code: int | None) -> str:
    """An exit code in words: "with exit code 1", "by SIGKILL"."""
    if exit_code is not None and exit_code < 0:
        return f"by {signal.Signals(-exit_code).name}"
    return f"with exit code {exit_code}"


def _prepare_child(*, death_signal: signal.Signals) -> Callable[[], None]:
    """Code that runs in the child between fork and exec: it dies even when we are killed with -9 (Linux only)."""
    prctl, parent = _LIBC.prctl if _LIBC else None, os.getpid()

    def prepare() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, int(death_signal))
            if os.getppid() != parent:  # the parent died before prctl took effect
                os._exit(1)

    return prepare


class AccountOptions(TypedDict):
    """Options of subprocess that make a child run as another user."""

    user: int | None
    group: int | None
    extra_groups: list[int] | None


def as_account(*, name: str | None) -> AccountOptions:
    """Run a child as this user and its group; None for our own.

    The group matters: a directory with the mode rwx-----x can be passed by everybody except members of its group.
    """
    if name is None:
        return {"user": None, "group": None, "extra_groups": None}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
