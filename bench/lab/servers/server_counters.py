"""The servers' own counters of commands, bytes and processor time. Nothing is estimated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Commands of the lab itself, or of a client that connects: not part of an attempt.
OVERHEAD = ("info", "client", "hello", "auth", "ping", "config", "command", "select", "cluster")

# How many commands `read_counters` itself sends, to be subtracted from the difference of two readings.
OWN_READS = 4


@dataclass(frozen=True, slots=True)
class ServerCounters:
    """Sums over the servers of a run.

    `executed` counts commands, also those inside scripts. `round_trips` counts how often a server read from a
    connection: once for a command, a script, or a MULTI … EXEC sent as one packet.
    """

    executed: int
    round_trips: int
    net_bytes: int
    cpu_seconds: float
    servers: int

    def since(self, before: "ServerCounters") -> "ServerCounters":
        return ServerCounters(
            executed=self.executed - before.executed,
            round_trips=self.round_trips - before.round_trips - OWN_READS * self.servers,
            net_bytes=self.net_bytes - before.net_bytes,
            cpu_seconds=self.cpu_seconds - before.cpu_seconds,
            servers=self.servers,
        )


def read_counters(clients: Sequence[Any]) -> ServerCounters:
    """The counters now, without the bytes of these readings. `clients` are the lab's, one connected to each server."""
    executed = round_trips = net_bytes = 0
    cpu_seconds = 0.0
    for client in clients:
        cpu = client.info("cpu")
        cpu_seconds += float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])
        for name, stat in client.info("commandstats").items():
            if name.removeprefix("cmdstat_").split("|")[0] not in OVERHEAD:
                executed += stat["calls"]
        own = client.client_info()
        stats = client.info("stats")
        round_trips += stats["total_reads_processed"]
        ours = int(own["tot-net-in"]) + int(own["tot-net-out"])
        net_bytes += stats["total_net_input_bytes"] + stats["total_net_output_bytes"] - ours
    return ServerCounters(executed, round_trips, net_bytes, cpu_seconds, len(clients))
