"""Ports are chosen once, whichever process chooses them."""

import contextlib
import random
import socket
import subprocess
import sys

import pytest

from shop.local import ports

CHOOSE_ONE = "from shop.local import ports; ports._PORTS = range({0}, {0} + 3); print(ports.free_port())"


@pytest.fixture
def first() -> int:
    """The first of three neighbours on which nothing listens, where neither the kernel nor other tests choose ports."""
    while True:
        number = random.randrange(12_000, 19_000)
        with contextlib.suppress(OSError), contextlib.ExitStack() as bound:
            for port in range(number, number + 3):
                bound.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return number


def test_a_chosen_port_is_nobody_elses_before_its_server_listens(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_PORTS", range(first, first + 3))
    chosen = ports.free_ports(count=2)
    words = [sys.executable, "-c", CHOOSE_ONE.format(first)]
    other = subprocess.run(words, capture_output=True, text=True, check=True, timeout=30)
    assert {*chosen, int(other.stdout)} == {first, first + 1, first + 2}


def test_a_port_on_which_something_listens_is_not_chosen(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_PORTS", range(first, first + 3))
    with socket.create_server(("127.0.0.1", first + 1)):
        assert set(ports.free_ports(count=2)) == {first, first + 2}


def test_a_chosen_port_can_be_listened_on_and_is_free_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_KEPT_MAX", 0)
    port = ports.free_port()
    monkeypatch.setattr(ports, "_PORTS", [port])
    with socket.create_server(("127.0.0.1", port)):
        pass
    assert ports.free_port() == port
