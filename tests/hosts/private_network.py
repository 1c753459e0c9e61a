"""A network of this test's own: hosts as network namespaces on one bridge, and links that nftables cuts.

Needs root on Linux, with the Debian packages iproute2 and nftables. This machine is on the bridge too, as the host
that the stores are on.
"""

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.network_changes import network_change

NO_NETWORK = (
    "Network namespaces need root on Linux, where `ip netns add` works, and the programs {missing}. "
    "On Debian: apt install iproute2 nftables nginx-light"
)
PROGRAMS = ("ip", "nft", "nginx")
# This machine, among the hosts.
HERE = "here"


def need_network() -> None:
    """Skip the test where there can be no such network; fail where that must not be."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing or os.geteuid() != 0 or not namespaces_work():
        reason = NO_NETWORK.format(missing=", ".join(missing or PROGRAMS))
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def namespaces_work() -> bool:
    name = f"stampede-try-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return False
    run("ip", "netns", "del", name)
    return True


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


class PrivateNetwork:
    """Hosts by their names, each with an address. The network is one of those that are reserved for tests."""

    def __init__(self, names: Sequence[str]) -> None:
        number = os.getpid()
        self._bridge = f"stb{number}"
        self._prefix = f"198.18.{number % 250}"
        self._namespaces = {name: f"stampede-{number}-{name}" for name in names}
        self.address = f"{self._prefix}.1"
        self.addresses = {name: f"{self._prefix}.{place}" for place, name in enumerate(names, start=11)}

    def build(self) -> None:
        run("ip", "link", "add", self._bridge, "type", "bridge")
        # The kernel would give each link an address of its own, a second after it is up.
        run("ip", "link", "set", self._bridge, "addrgenmode", "none")
        run("ip", "address", "add", f"{self.address}/24", "dev", self._bridge)
        run("ip", "link", "set", self._bridge, "up")
        for place, (name, namespace) in enumerate(self._namespaces.items()):
            outside, inside = f"{self._bridge}o{place}", f"{self._bridge}i{place}"
            run("ip", "netns", "add", namespace)
            run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", namespace)
            run("ip", "link", "set", outside, "addrgenmode", "none")
            run("ip", "link", "set", outside, "master", self._bridge, "up")
            at = ("ip", "-n", namespace)
            run(*at, "address", "add", f"{self.addresses[name]}/24", "dev", inside)
            run(*at, "link", "set", inside, "up")
            run(*at, "link", "set", "lo", "up")

    def remove(self) -> None:
        for words in (
            *(("ip", "netns", "del", namespace) for namespace in self._namespaces.values()),
            ("ip", "link", "del", self._bridge),
        ):
            subprocess.run(words, capture_output=True)

    def at(self, name: str, argv: Sequence[str]) -> list[str]:
        """The command, run on this host. The process keeps its id."""
        return ["ip", "netns", "exec", self._namespaces[name], *argv]

    @contextmanager
    def cut(self, name: str, *, port: int) -> Iterator[None]:
        """Nothing passes between the host and this port, in either direction, and nobody is told."""
        with self._dropping(name, leaving=f"tcp dport {port}", arriving=f"tcp sport {port}"):
            yield

    @contextmanager
    def isolate(self, name: str, *, but_port: int) -> Iterator[None]:
        """The host reaches nobody and is reached by nobody, but for those who call this port of it."""
        with self._dropping(name, leaving=f"tcp sport != {but_port}", arriving=f"tcp dport != {but_port}"):
            yield

    @contextmanager
    def cut_links(self, links: Collection[tuple[str, str]], *, ports: Collection[int]) -> Iterator[None]:
        """Nothing to or from these ports passes from the first to the second host of each pair; HERE can be a first."""
        addresses, numbers = {**self.addresses, HERE: self.address}, ", ".join(map(str, ports))
        hosts = sorted({receiver for _sender, receiver in links})
        for host in hosts:
            senders = ", ".join(addresses[sender] for sender, receiver in links if receiver == host)
            rules = [f"ip saddr {{ {senders} }} tcp {end} {{ {numbers} }} drop\n" for end in ("sport", "dport")]
            chain = f"chain in {{\n type filter hook input priority 0\n {' '.join(rules)} }}\n"
            run(*self.at(host, ["nft", f"table inet cut_links {{\n{chain}}}\n"]))
        try:
            yield
        finally:
            for host in hosts:
                run(*self.at(host, ["nft", "delete table inet cut_links"]))

    @contextmanager
    def _dropping(self, name: str, *, leaving: str, arriving: str) -> Iterator[None]:
        """Programs on the host itself still reach each other."""
        rules = (
            f"table inet cut {{\n"
            f"chain out {{\n type filter hook output priority 0;\n oifname != lo {leaving} drop\n }}\n"
            f"chain in {{\n type filter hook input priority 0;\n iifname != lo {arriving} drop\n }}\n"
            "}\n"
        )
        run(*self.at(name, ["nft", rules]))
        try:
            yield
        finally:
            run(*self.at(name, ["nft", "delete table inet cut"]))


@contextmanager
def private_network(*names: str) -> Iterator[PrivateNetwork]:
    network = PrivateNetwork(names)
    try:
        with network_change():
            network.build()
        yield network
    finally:
        with network_change():
            network.remove()
