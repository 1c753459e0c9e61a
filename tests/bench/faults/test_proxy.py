"""The proxy passes, stalls, cuts and refuses connections, and drops what its rules match."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from bench.faults.wire.proxy import DropRule, Mode, Proxy
from shop.local.ports import free_port

SECONDS_MAX = 5.0
# Long enough for an answer that is not held back.
SILENCE_SECONDS = 0.3


class Echo:
    """A server that answers each message with its number and its text, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with closing(connection):
            try:
                while data := connection.recv(1024):
                    self.heard.append(data)
                    connection.sendall(b"echo " + data)
            except OSError:
                return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    proxy = Proxy()
    proxy.add("link", port=free_port(), target_port=echo.port)
    yield proxy
    proxy.stop()


def connected(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port("link")), timeout=SECONDS_MAX)


def ask(connection: socket.socket, text: bytes) -> bytes:
    """The answer; empty where the connection ended."""
    try:
        connection.sendall(text)
        return connection.recv(1024)
    except ConnectionError:
        return b""


def test_a_link_passes_both_ways_and_a_stalled_one_keeps_what_it_was_given(proxy: Proxy, echo: Echo) -> None:
    with connected(proxy) as connection:
        assert ask(connection, b"one") == b"echo one"
        proxy.switch(Mode.STALL, "link")
        connection.settimeout(SILENCE_SECONDS)
        with pytest.raises(TimeoutError):
            ask(connection, b"two")
        assert echo.heard == [b"one"]
        proxy.switch(Mode.PASS, "link")
        connection.settimeout(SECONDS_MAX)
        assert connection.recv(1024) == b"echo two"


def test_a_cut_resets_what_is_connected_and_what_connects(proxy: Proxy) -> None:
    with connected(proxy) as connection:
        assert ask(connection, b"one") == b"echo one"
        proxy.switch(Mode.CUT, "link")
        assert ask(connection, b"two") == b""
    with connected(proxy) as connection:
        assert ask(connection, b"three") == b""
    proxy.reset()
    with connected(proxy) as connection:
        assert ask(connection, b"four") == b"echo four"


def test_a_refusing_link_does_not_listen(proxy: Proxy) -> None:
    proxy.switch(Mode.REFUSE, "link")
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    proxy.switch(Mode.PASS, "link")
    with connected(proxy) as connection:
        assert ask(connection, b"one") == b"echo one"


def test_a_rule_drops_the_answer_or_the_request_once(proxy: Proxy, echo: Echo) -> None:
    rule = DropRule(pattern=b"COMMIT", deliver=True)
    proxy.add_rule(rule, "link")
    with connected(proxy) as connection:
        assert ask(connection, b"BEGIN") == b"echo BEGIN"
        assert ask(connection, b"COMMIT") == b""
    assert echo.heard == [b"BEGIN", b"COMMIT"]
    assert rule.triggered.is_set()
    with connected(proxy) as connection:
        assert ask(connection, b"COMMIT") == b"echo COMMIT"
    proxy.add_rule(DropRule(pattern=b"ROLLBACK", deliver=False), "link")
    with connected(proxy) as connection:
        assert ask(connection, b"ROLLBACK") == b""
    assert b"ROLLBACK" not in echo.heard


def test_a_rule_can_need_an_earlier_message_on_the_same_connection(proxy: Proxy) -> None:
    proxy.add_rule(DropRule(pattern=b"COMMIT", after=b"INSERT", deliver=False), "link")
    with connected(proxy) as other, connected(proxy) as connection:
        assert ask(other, b"INSERT") == b"echo INSERT"
        assert ask(connection, b"COMMIT") == b"echo COMMIT"
        assert ask(other, b"COMMIT") == b""


def test_a_link_can_get_another_target(proxy: Proxy) -> None:
    other = Echo()
    with connected(proxy) as connection:
        assert ask(connection, b"one") == b"echo one"
        proxy.retarget(other.port, "link")
        assert ask(connection, b"two") == b""
    with connected(proxy) as connection:
        assert ask(connection, b"three") == b"echo three"
    assert other.heard == [b"three"]
    other.close()


def test_a_delayed_link_delays_each_way_and_loses_what_is_under_way_when_it_is_cut(proxy: Proxy, echo: Echo) -> None:
    proxy.add("slow", port=free_port(), target_port=echo.port, delay_seconds=0.05)
    with socket.create_connection(("127.0.0.1", proxy.port("slow")), timeout=SECONDS_MAX) as connection:
        began_s = time.monotonic()
        assert ask(connection, b"one") == b"echo one"
        assert time.monotonic() - began_s >= 0.1
        connection.sendall(b"too late")
        proxy.switch(Mode.REFUSE, "slow")
        assert ask(connection, b"") == b""
    assert echo.heard == [b"one"]
