"""Debian's `wrk`, the load generator: one run, and its report."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

SCRIPTS = Path(__file__).parent / "wrk_scripts"
HOW_TO_INSTALL = (
    "`make bench` sends its requests with wrk, which is not installed. On Debian and Ubuntu: apt-get install wrk"
)
# As in all figures of the shop that were published before.
CONNECTIONS = 16
# Many buyers at a time, as a flash sale has them.
CROWD = 256
# One is enough: it sends several times as many requests as two processes of a server can answer.
THREADS = 1
# A slower answer counts as an error. wrk's own 2 s would count answers of a database that is only busy.
ANSWER_SECONDS_MAX = 10
# Reading the passes, connecting, and the answers that are under way at the end.
GRACE_SECONDS = 30.0
POLL_SECONDS = 0.02
REPORT_MARK = "REPORT "


class WrkMissing(Exception):
    """wrk is not installed. The message says how to install it."""


class WrkFailed(Exception):
    """wrk ended with an error, or without a report, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The requests of wrk: `script` is one of the folder wrk_scripts, with its arguments."""

    url: str
    script: str = "report"
    arguments: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    connections: int = CONNECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The counts of wrk. `above_399` counts answers with a status above 399, `failed` requests without any answer."""

    requests: int
    seconds: float
    bytes: int
    p50_ms: float
    p99_ms: float
    above_399: int
    failed: int

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def find_wrk() -> str:
    """Its path. Raises WrkMissing."""
    found = shutil.which("wrk")
    if found is None:
        raise WrkMissing(HOW_TO_INSTALL)
    return found


def run_wrk(load: Load, *, seconds: int, until: Callable[[], bool] | None = None) -> Report:
    """Send requests for so many seconds, or until that is so. Raises WrkMissing and WrkFailed."""
    words = command_of(load, seconds=seconds)
    wrk = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        if until is not None:
            stop_when(until, wrk, seconds_max=seconds)
        output, _none = wrk.communicate(timeout=seconds + GRACE_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise WrkFailed(f"wrk did not end within {GRACE_SECONDS:.0f} s of its time.") from error
    finally:
        if wrk.poll() is None:
            wrk.kill()
            wrk.wait()
    if wrk.returncode != 0:
        raise WrkFailed(f"wrk ended with exit code {wrk.returncode}: {output.strip()[-500:]}")
    return parse_report(output)


def stop_when(until: Callable[[], bool], wrk: subprocess.Popen[str], *, seconds_max: int) -> None:
    """Ask wrk to stop as soon as it is so. It would go on to the end of its time even with nothing left to send."""
    give_up_s = time.monotonic() + seconds_max
    while wrk.poll() is None and time.monotonic() < give_up_s:
        if until():
            wrk.send_signal(signal.SIGINT)
            return
        time.sleep(POLL_SECONDS)


def command_of(load: Load, *, seconds: int) -> list[str]:
    """The command line of a run."""
    words = [find_wrk(), f"-t{THREADS}", f"-c{load.connections}", f"-d{seconds}s", f"--timeout={ANSWER_SECONDS_MAX}s"]
    words += ["-s", str(SCRIPTS / f"{load.script}.lua")]
    for name, value in load.headers.items():
        words += ["-H", f"{name}: {value}"]
    return [*words, load.url, "--", *load.arguments]


def parse_report(output: str) -> Report:
    """The report that the scripts print at the end. Raises WrkFailed if it is missing or damaged."""
    lines = [line for line in output.splitlines() if line.startswith(REPORT_MARK)]
    if len(lines) != 1:
        raise WrkFailed(f"wrk printed no report: {output.strip()[-500:]}")
    try:
        values = json.loads(lines[0].removeprefix(REPORT_MARK))
        report = Report(
            requests=values["requests"],
            seconds=values["seconds"],
            bytes=values["bytes"],
            p50_ms=values["p50_ms"],
            p99_ms=values["p99_ms"],
            above_399=values["above_399"],
            failed=sum(values[name] for name in ("connect", "read", "write", "timeout")),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise WrkFailed(f"wrk's report cannot be read: {lines[0]}") from error
    if report.requests < 1 or report.seconds <= 0:
        raise WrkFailed(f"wrk got no answer from {output.splitlines()[0] if output else 'the server'}.")
    return report
