"""The load generator: its command line, its report, and what happens without it."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.measure.speed import __main__ as speed_main
from bench.measure.speed import wrk
from bench.measure.speed.wrk import CONNECTIONS, Load, WrkFailed, command_of, parse_report, run_wrk
from tests.deploy.programs import program

# One mode with a body in each request, one without.
BODIES = {"once": '{"units": 1}', "again": ""}
OUTPUT = """\
Running 2s test @ http://127.0.0.1:21999/
  1 threads and 16 connections
Requests/sec: 175438.19
REPORT {"requests": 500, "seconds": 2.5, "bytes": 66000, "p50_ms": 0.075, "p99_ms": 0.320, \
"above_399": 3, "connect": 1, "read": 2, "write": 0, "timeout": 4}
"""


def test_a_report_is_read() -> None:
    report = parse_report(OUTPUT)
    assert report.per_second == 200
    assert (report.p50_ms, report.p99_ms) == (0.075, 0.32)
    assert report.above_399 == 3
    assert report.failed == 7


def test_output_without_a_usable_report_is_an_error() -> None:
    for output in (
        "",
        "unable to connect to 127.0.0.1:1 Connection refused",
        OUTPUT + OUTPUT,
        OUTPUT.replace('"seconds": 2.5, ', ""),
        OUTPUT.replace("}", ""),
        OUTPUT.replace('"requests": 500', '"requests": 0'),
    ):
        with pytest.raises(WrkFailed):
            parse_report(output)


def test_a_load_becomes_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrk, "find_wrk", lambda: "wrk")
    load = Load(url="http://127.0.0.1:1/", script="tokens", arguments=("file", "again"), headers={"Cookie": "a=b"})
    words = command_of(load, seconds=5)
    assert words[:5] == ["wrk", "-t1", "-c16", "-d5s", "--timeout=10s"]
    assert words[5:7] == ["-s", str(wrk.SCRIPTS / "tokens.lua")]
    assert words[7:] == ["-H", "Cookie: a=b", "http://127.0.0.1:1/", "--", "file", "again"]


@pytest.mark.parametrize("mode", BODIES)
def test_each_request_has_another_pass(tmp_path: Path, mode: str) -> None:
    program("wrk", package="wrk")
    file = tmp_path / "passes.txt"
    file.write_text("\n".join(f"pass-{number}" for number in range(50)))
    with recording_server() as (port, seen):
        arguments = (str(file), mode, "POST", "Pass", BODIES[mode])
        load = Load(url=f"http://127.0.0.1:{port}/", script="tokens", arguments=arguments)
        report = run_wrk(load, seconds=1)
    # wrk asks its script for one request that it does not send, and does not wait for the last answers.
    assert {f"Pass pass-{number}" for number in range(1, 50)} <= set(seen)
    assert sum(seen.values()) >= report.requests > 0
    if mode == "once":
        assert set(seen.values()) == {1}
        assert report.requests == 49
    else:
        assert max(seen.values()) - min(seen.values()) <= CONNECTIONS


@contextmanager
def recording_server() -> Iterator[tuple[int, Counter[str]]]:
    """A server on this machine that counts the values of Authorization."""
    seen: Counter[str] = Counter()
    lock = threading.Lock()

    class Recorder(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                seen[self.headers["Authorization"]] += 1
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """wrk closes its connections without waiting for the last answers."""

    with Server(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.server_port, seen
        finally:
            server.shutdown()
            thread.join()


def test_without_wrk_the_bench_says_how_to_get_it_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert speed_main.main(["--directory", str(tmp_path / "speed")]) == 2
    assert "apt-get install wrk" in capsys.readouterr().err
    assert not (tmp_path / "speed").exists()
