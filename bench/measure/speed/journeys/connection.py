"""The connection of one person's browser: one call at a time, kept open, as cheap for the client as can be.

A client library takes as much processor time for a call as the shop does, and both share two cores here.
"""

import asyncio
import re
from typing import NamedTuple, cast

CALL_SECONDS_MAX = 30.0
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)


class Reply(NamedTuple):
    status: int
    body: bytes
    retry_after_seconds: float


class Connection(asyncio.Protocol):
    """Opened at the first call, and again where it was closed."""

    def __init__(self, *, port: int, local_host: str) -> None:
        self._port = port
        self._local_host = local_host
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._reply: asyncio.Future[Reply] | None = None

    async def call(self, request: bytes) -> Reply:
        """Send the bytes of a request, and wait for its answer. Raises OSError, TimeoutError and ValueError."""
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                try:
                    return await self._call_once(request)
                except ConnectionError:
                    # The server closes a connection that has been quiet. All calls of a journey can be repeated.
                    return await self._call_once(request)
        except (OSError, TimeoutError, ValueError):
            # The answer may still come, and the next call must not take it for its own.
            self.close()
            raise

    async def _call_once(self, request: bytes) -> Reply:
        loop = asyncio.get_running_loop()
        if self._transport is None:
            await loop.create_connection(lambda: self, "127.0.0.1", self._port, local_addr=(self._local_host, 0))
        assert self._transport is not None
        self._reply = loop.create_future()
        self._transport.write(request)
        return await self._reply

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not name the class that they are like.
        self._transport, self._received = cast(asyncio.Transport, transport), b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(HEAD_END)
        if not end or self._reply is None or self._reply.done():
            return
        length = LENGTH.search(head)
        if length is None:
            self._reply.set_exception(ValueError(f"an answer without a length: {head!r}"))
        elif len(body) > int(length[1]):
            self._reply.set_exception(ValueError(f"more than one answer: {self._received!r}"))
        elif len(body) == int(length[1]):
            after = RETRY_AFTER.search(head)
            self._received = b""
            self._reply.set_result(Reply(int(head[9:12]), body, float(after[1]) if after else 1.0))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionResetError("the server closed the connection"))
