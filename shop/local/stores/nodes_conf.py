"""The files nodes.conf, in which the nodes of a cluster keep their view of each other.

A node that starts with such a file knows all others. So the files of a new cluster are written before its first start,
and at each later start the addresses in them are replaced, since ports are chosen anew. Nodes know each other by their
ids, which stay. The format: https://valkey.io/commands/cluster-nodes/
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SLOTS = 16384

# id, address, and the rest, which begins with a comma or a space.
_LINE = re.compile(r"^(?P<id>[0-9a-f]{40}) (?P<host>[^:\s]*):\d+@\d+(?P<rest>[, ].*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class NodeAddress:
    """The port for clients, and the one on which nodes talk to each other."""

    port: int
    bus_port: int


def new_files(*, addresses: Sequence[NodeAddress], primaries: int, host: str) -> list[str]:
    """One file for each node of a new cluster. The first are primaries, the others their replicas in turn."""
    ids = [secrets.token_hex(20) for _ in addresses]
    shards = [secrets.token_hex(20) for _ in range(primaries)]
    lines = []
    for number, (node_id, address) in enumerate(zip(ids, addresses, strict=True)):
        shard = number % primaries
        first, end = SLOTS * shard // primaries, SLOTS * (shard + 1) // primaries
        role = "master -" if number < primaries else f"slave {ids[shard]}"
        slots = f" {first}-{end - 1}" if number < primaries else ""
        place = f"{host}:{address.port}@{address.bus_port},,tls-port=0,shard-id={shards[shard]}"
        # Each primary has an epoch of its own; else they would take seconds to agree on who changes it.
        lines.append(f"{node_id} {place} {role} 0 0 {shard + 1} connected{slots}")
    variables = f"vars currentEpoch {primaries} lastVoteEpoch 0"
    return [
        "\n".join([*_marked(lines, own=number), variables, ""])  # the last line must end
        for number in range(len(lines))
    ]


def _marked(lines: Sequence[str], *, own: int) -> list[str]:
    """The lines as one of the nodes writes them, with its own line marked."""
    marked = list(lines)
    marked[own] = re.sub(r" (master|slave) ", r" myself,\1 ", marked[own], count=1)
    return marked


def own_id(*, text: str) -> str | None:
    """The id of the node that wrote the file; None for a damaged one."""
    found = re.search(r"^([0-9a-f]{40}) \S+ myself,", text, re.MULTILINE)
    return found[1] if found else None


def readdressed(*, text: str, addresses: Mapping[str, NodeAddress], host: str) -> str:
    """The file with the new addresses of the nodes with these ids."""

    def with_address(line: re.Match[str]) -> str:
        address = addresses.get(line["id"])
        if address is None:
            return line[0]
        return f"{line['id']} {host}:{address.port}@{address.bus_port}{line['rest']}"

    return _LINE.sub(with_address, text)
