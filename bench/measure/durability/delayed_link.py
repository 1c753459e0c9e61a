"""A network link between two servers of this machine: each byte arrives a fixed time after it was sent.

Threads and not an event loop, since epoll waits for whole milliseconds.
"""

import contextlib
import queue
import socket
import threading
import time

HOST = "127.0.0.1"
CHUNK = 65_536


class DelayedLink:
    """Listens on `port` and passes everything on to `target_port` and back, `delay_s` later each way."""

    def __init__(self, *, port: int, target_port: int, delay_s: float) -> None:
        self.port = port
        self._target_port = target_port
        self._delay_s = delay_s
        self._down = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((HOST, port))
        threading.Thread(target=self._accept, name="link", daemon=True).start()

    def cut(self) -> None:
        """End all connections. Bytes under way are lost, as when a host is gone."""
        self._down.set()
        # A thread that waits in accept() or recv() goes on only after a shutdown.
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._down.is_set():
                near, _address = self._listener.accept()
                far = socket.create_connection((HOST, self._target_port))
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.append(one)
                for source, sink in ((near, far), (far, near)):
                    under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=self._take, args=(source, under_way), name="link", daemon=True).start()
                    threading.Thread(target=self._deliver, args=(sink, under_way), name="link", daemon=True).start()

    def _take(self, source: socket.socket, under_way: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        """Note when each portion is due. An empty one is the end of the connection."""
        data = b"begin"
        while data:
            try:
                data = source.recv(CHUNK)
            except OSError:
                data = b""
            under_way.put((time.monotonic() + self._delay_s, data))

    def _deliver(self, sink: socket.socket, under_way: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        with contextlib.suppress(OSError):
            while True:
                due_s, data = under_way.get()
                time.sleep(max(0.0, due_s - time.monotonic()))
                if not data or self._down.is_set():
                    break
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
