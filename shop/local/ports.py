"""Ports for servers that are started on this machine for a while."""

import contextlib
import secrets
import socket

# Below the range from which the kernel takes the ports of outgoing connections (32768 and up on Linux, 49152
# and up on macOS). Inside that range a client that keeps trying to reconnect to a dead server on the same
# machine can be given the server's own port, connect to itself, and keep the server from coming back.
_PORTS = range(20_000, 32_000)

# After we have chosen a port and before the server listens on it, another program may take it.
PORT_ATTEMPTS = 3


def free_ports(*, count: int) -> list[int]:
    """Different ports on which nothing listens. All are bound at the same time, so that no port is returned twice."""
    with contextlib.ExitStack() as bound:
        ports: list[int] = []
        while len(ports) < count:
            port = secrets.choice(_PORTS)
            listener = bound.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                ports.append(port)
        return ports
