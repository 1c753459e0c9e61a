"""A connection to a server of the reservation store that an event loop reads and writes.

redis-py opens it, in a thread: address, sign-in, TLS, time limits and the question to the sentinels are those of the
client. From then on the event loop has its socket. redis-py's own asynchronous client was measured at 48 to 56 µs of
processor time a call, this at 3 to 4 with many calls in one write: that is why it is written by hand.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import hiredis
from redis import Redis
from redis._parsers import BaseParser
from redis.exceptions import ConnectionError, InvalidResponse

READ_BYTES = 65_536
# The socket has nothing more to read, or no room for more. TLS may want to read before it writes, and the reverse.
NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
INCOMPLETE = object()


def opened(client: Redis) -> Any:
    """A new connection of redis-py with the options of the client, for `LoopConnection`.

    Waits for the server, so it is for threads. Raises RedisError.
    """
    pool = client.connection_pool
    # Not one of the pool: it would count as in use for ever. Protocol 3 has messages that nobody asked for.
    connection = pool.connection_class(**{**pool.connection_kwargs, "protocol": 2})
    connection.connect()
    return connection


class LoopConnection:
    """Writes bytes, and gives replies to `take` in the order of the commands. After `lost` it does nothing."""

    def __init__(
        self,
        connection: Any,
        *,
        loop: asyncio.AbstractEventLoop,
        take: Callable[[list[Any]], None],
        lost: Callable[[ConnectionError], None],
    ) -> None:
        """`connection` comes from `opened`. `take` gets the replies that came together, with the server's errors."""
        self._connection = connection
        self._loop = loop
        self._take = take
        self._lost = lost
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse, replyError=BaseParser.parse_error, notEnoughData=INCOMPLETE
        )
        self._unsent = b""
        # Whether the loop calls `_send` as soon as the socket has room.
        self._is_writer = False
        self._socket: Any = connection._sock
        self._socket.setblocking(False)
        loop.add_reader(self._socket, self._read)

    def write(self, data: bytes) -> None:
        """Send the bytes, now or when the socket has room."""
        if self._socket is None:
            return
        if self._unsent:
            self._unsent += data
            return
        self._unsent = data
        self._send()

    def _send(self) -> None:
        had_room = False
        try:
            sent = self._socket.send(self._unsent)
            had_room = sent == len(self._unsent)
            self._unsent = self._unsent[sent:]
        except NOT_NOW:
            pass
        except OSError as error:
            self._lose(error)
            return
        if not had_room:
            self._is_writer = True
            self._loop.add_writer(self._socket, self._send)
        elif self._is_writer:
            self._is_writer = False
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        replies: list[Any] = []
        failure: Exception | None = None
        try:
            while True:
                data = self._socket.recv(READ_BYTES)
                if not data:
                    raise EOFError("the server has closed the connection")
                self._reader.feed(data)
                while (reply := self._reader.gets()) is not INCOMPLETE:
                    replies.append(reply)
                # With TLS, bytes that are decrypted already do not make the socket readable.
                if not (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()):
                    break
        except NOT_NOW:
            pass
        except (OSError, EOFError, InvalidResponse) as error:
            failure = error
        # Replies that came before the end are still replies.
        if replies:
            self._take(replies)
        if failure:
            self._lose(failure)

    def _lose(self, error: Exception) -> None:
        if self._socket is not None:
            self.close()
            self._lost(ConnectionError(str(error) or type(error).__name__))

    def close(self) -> None:
        """Calls whose replies have not come are not told so."""
        if self._socket is None:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self._socket = None
        with suppress(Exception):
            self._connection.disconnect()
