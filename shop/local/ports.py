"""Ports for servers that are started on this machine for a while."""

import errno
import os
import secrets
import socket
from collections import deque

# Below the range from which the kernel takes the ports of outgoing connections (32768 and up on Linux, 49152
# and up on macOS). Inside that range a client that keeps trying to reconnect to a dead server on the same
# machine can be given the server's own port, connect to itself, and keep the server from coming back.
_PORTS = range(20_000, 32_000)

# After we have chosen a port and before the server listens on it, another program may take it.
PORT_ATTEMPTS = 3

# The UDP ports of the same numbers stay bound while this process lives, so that no other process that chooses here
# takes a port before its server listens. None of our servers uses UDP. These are files: a long run has only so many.
_kept: deque[int] = deque()
_KEPT_MAX = 200


def free_port() -> int:
    """A port on which nothing listens, and which no other process has just chosen here."""
    return free_ports(count=1)[0]


def free_ports(*, count: int) -> list[int]:
    """Different ports on which nothing listens, and which no other process has just chosen here."""
    ports: list[int] = []
    while len(ports) < count:
        port = secrets.choice(_PORTS)
        if _keep(port):
            ports.append(port)
    return ports


def _keep(port: int) -> bool:
    """Keep the number from others. False if it is taken."""
    with socket.socket() as listener, socket.socket(type=socket.SOCK_DGRAM) as kept:
        try:
            listener.bind(("127.0.0.1", port))
            kept.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
        _kept.append(kept.detach())
    while len(_kept) > _KEPT_MAX:
        os.close(_kept.popleft())
    return True
