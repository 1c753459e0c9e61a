"""A part of the bench: one thing that is asked for again and again, and the figures of one such run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from bench.http_requests import request
from bench.measure.speed.wrk import CONNECTIONS, Load, Report, run_wrk
from bench.processor_time import ended_children_seconds, seconds_by_kind

# Connecting, and the first requests of a process, are not measured.
WARM_UP_SECONDS = 1
# Figures of a sample that are measured at every request.
ANSWERS = ("per_second", "p50_ms", "p99_ms", "answer_bytes")


class WrongAnswer(Exception):
    """The server answered otherwise than it had to. The figures of such a run are no figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server: its port, the processes of each kind whose time counts, and how a part is to be measured.

    `directory` is for files of the run.
    """

    port: int
    pids: Mapping[str, tuple[int, ...]]
    seconds: int
    directory: Path

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run of one part. `cpu_us` is processor time for each answer by kind of process; `figures` is the rest.

    A part that sends no requests has figures alone.
    """

    requests: int = 0
    per_second: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    answer_bytes: float = 0.0
    cpu_us: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    figures: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def by_name(self) -> dict[str, float]:
        """Every figure. `cpu_us.web` is the processor time of the web server for each answer."""
        answers = {name: getattr(self, name) for name in ANSWERS} if self.requests else {}
        return {**answers, **{f"cpu_us.{kind}": value for kind, value in self.cpu_us.items()}, **self.figures}


@dataclass(frozen=True, slots=True)
class Part:
    """`server` is the name of the group of servers that it needs (bench/measure/speed/server_groups.py).

    `once` means: in the last round only, since it takes long and compares with itself.
    """

    name: str
    title: str
    server: str
    measure: Callable[[Server], Sample]
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One kind of request, and what the answer must be. `code` is that of a problem document, or empty."""

    path: str
    method: str = "GET"
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    status: int = 200
    code: str = ""


def measure_ask(server: Server, ask: Ask, *, load: Load | None = None, connections: int = CONNECTIONS) -> Sample:
    """Send the request for the time of a run and compare the answers. `load` is what to send if it varies.

    Raises WrongAnswer and WrkFailed.
    """
    check_answer(server, ask)
    load = load or constant_load(server, ask, connections=connections)
    run_wrk(load, seconds=WARM_UP_SECONDS)
    before = seconds_by_kind(server.pids)
    wrk_before = ended_children_seconds()
    report = run_wrk(load, seconds=server.seconds)
    cpu = seconds_since(before, server)
    cpu["wrk"] = ended_children_seconds() - wrk_before
    check_report(report, refused=ask.status > 399)
    check_answer(server, ask)
    return sample_of(report, cpu_us={kind: seconds / report.requests * 1e6 for kind, seconds in cpu.items()})


def constant_load(server: Server, ask: Ask, *, connections: int) -> Load:
    arguments = (ask.method, ask.body) if ask.body else (ask.method,)
    return Load(url=server.url(ask.path), arguments=arguments, headers=ask.headers, connections=connections)


def seconds_since(before: Mapping[str, float], server: Server) -> dict[str, float]:
    return {kind: seconds - before[kind] for kind, seconds in seconds_by_kind(server.pids).items()}


def sample_of(
    report: Report, *, cpu_us: Mapping[str, float], figures: Mapping[str, float] = MappingProxyType({})
) -> Sample:
    return Sample(
        requests=report.requests,
        per_second=report.per_second,
        p50_ms=report.p50_ms,
        p99_ms=report.p99_ms,
        answer_bytes=report.bytes / report.requests,
        cpu_us=cpu_us,
        figures=figures,
    )


def check_report(report: Report, *, refused: bool) -> None:
    """Every answer came, and every one was a refusal, or none. Raises WrongAnswer."""
    if report.failed:
        raise WrongAnswer(f"{report.failed:,} of {report.requests:,} requests got no answer")
    if refused and report.above_399 != report.requests:
        raise WrongAnswer(f"{report.requests - report.above_399:,} of {report.requests:,} were not refused")
    if not refused and report.above_399:
        raise WrongAnswer(f"{report.above_399:,} of {report.requests:,} answers had a status above 399")


def check_answer(server: Server, ask: Ask) -> None:
    """Raises WrongAnswer unless one request gets exactly the answer that is expected."""
    status, code = answer_to(server, ask)
    if (status, code) != (ask.status, ask.code):
        expected = f"{ask.status} {ask.code}".strip()
        raise WrongAnswer(f"{ask.method} {ask.path} got {status} {code}".rstrip() + f", expected {expected}")


def answer_to(server: Server, ask: Ask) -> tuple[int, str]:
    """Status and code of the answer; (0, reason) if none came."""
    reply = request(server.port, ask.method, ask.path, headers=ask.headers, data=ask.body.encode() or None)
    return reply.status, reply.problem or str(reply.json_object.get("code", ""))
