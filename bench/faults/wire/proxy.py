"""A small TCP proxy between two processes: it can delay, stall, cut and refuse connections, and drop chosen messages.

It runs in a thread with an event loop. Links are added and switched from any other thread.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import StrEnum
from selectors import SelectSelector
from typing import Any

HOST = "127.0.0.1"
CHUNK = 65_536


class Mode(StrEnum):
    """PASS lets everything through; STALL holds it back; CUT resets each connection; REFUSE does not listen."""

    PASS = "pass"
    STALL = "stall"
    CUT = "cut"
    REFUSE = "refuse"


@dataclass(kw_only=True)
class DropRule:
    """Drops requests on a link that contain `pattern`; with `after` only if that came before on the same connection.

    The connection of such a request is reset: with `deliver` when the server has answered, so that its answer is lost;
    without it before the request reaches the server. `remaining` is how many to drop; `triggered` is set by the first.
    """

    pattern: bytes
    deliver: bool
    remaining: int = 1
    after: bytes = b""
    triggered: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class ProxiedConnection:
    """One connection through a link."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    seen_after: bool = False
    loses_answer: bool = False

    def reset(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


class Link:
    """A listening port and its target. Everything but `port` and `mode` is used by the loop's thread alone."""

    def __init__(self, *, host: str, port: int, target_port: int, delay_seconds: float) -> None:
        self.port = port
        self._host = host
        self._delay_seconds = delay_seconds
        self.mode = Mode.PASS
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._connections: set[ProxiedConnection] = set()
        self._rules: list[DropRule] = []
        self._flows = asyncio.Event()
        self._flows.set()

    async def switch(self, mode: Mode) -> None:
        """Change what happens to new and existing connections."""
        self.mode = mode
        if mode in (Mode.CUT, Mode.REFUSE):
            self.reset_all()
        if mode is Mode.STALL:
            self._flows.clear()
        else:
            self._flows.set()
        if mode is Mode.REFUSE:
            await self.close()
        elif self._server is None:
            self._server = await asyncio.start_server(self._serve, self._host, self.port)

    async def retarget(self, target_port: int, *, reset: bool) -> None:
        """Connect to another target from now on. Connections to the former one are reset, or stay."""
        self._target_port = target_port
        if reset:
            self.reset_all()

    async def add_rule(self, rule: DropRule) -> None:
        self._rules.append(rule)

    async def clear_rules(self) -> None:
        self._rules.clear()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def reset_all(self) -> None:
        for connection in list(self._connections):
            connection.reset()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from accept to reset, also when it is cancelled on the way."""
        try:
            if self.mode is not Mode.CUT:
                await self._flows.wait()
                server_reader, server_writer = await asyncio.open_connection(HOST, self._target_port)
                await self._pass_on(reader, ProxiedConnection(client=writer, server=server_writer), server_reader)
        except OSError:
            pass  # the target does not listen
        finally:
            writer.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, connection: ProxiedConnection, server_reader: asyncio.StreamReader
    ) -> None:
        """Copy both directions until one of them ends."""
        self._connections.add(connection)
        try:
            requests = asyncio.create_task(
                self._pump(reader, connection.server, lambda data: self._on_request(connection, data))
            )
            answers = asyncio.create_task(
                self._pump(server_reader, connection.client, lambda data: not connection.loses_answer)
            )
            await asyncio.wait([requests, answers], return_when=asyncio.FIRST_COMPLETED)
            for task in (requests, answers):
                task.cancel()
            await asyncio.gather(requests, answers, return_exceptions=True)
            await self._flush(connection.client)
        finally:
            self._connections.discard(connection)
            connection.reset()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, may_pass: Callable[[bytes], bool]
    ) -> None:
        """Copy one direction until it ends, or until something must not pass."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._flows.wait()
                if not may_pass(data):
                    return
                if self._delay_seconds:
                    asyncio.get_running_loop().call_later(self._delay_seconds, writer.write, data)
                else:
                    writer.write(data)
                    await writer.drain()
            # What is under way arrives before the end of the connection does.
            await asyncio.sleep(self._delay_seconds)

    async def _flush(self, writer: asyncio.StreamWriter) -> None:
        """Let the client receive what the server sent last, before the reset."""
        with contextlib.suppress(OSError):
            writer.close()
            async with asyncio.timeout(1):
                await writer.wait_closed()

    def _on_request(self, connection: ProxiedConnection, data: bytes) -> bool:
        """Whether the request goes on to the server. A rule that matches may drop it, or its answer."""
        for rule in self._rules:
            if rule.after and rule.after in data:
                connection.seen_after = True
            if rule.remaining <= 0 or rule.pattern not in data or (rule.after and not connection.seen_after):
                continue
            rule.remaining -= 1
            rule.triggered.set()
            connection.seen_after = False
            connection.loses_answer = True
            if not rule.deliver:
                connection.reset()
            return rule.deliver
        return True


class Proxy:
    """All links, in one thread."""

    def __init__(self, *, exact_delays: bool = False) -> None:
        """epoll, the loop's usual way, waits for whole milliseconds. With `exact_delays` the links must be few."""
        self._loop = asyncio.SelectorEventLoop(SelectSelector()) if exact_delays else asyncio.new_event_loop()
        self._links: dict[str, Link] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()

    def add(self, name: str, *, port: int, target_port: int, host: str = HOST, delay_seconds: float = 0.0) -> None:
        """Add a link in mode PASS, which delays each way by as much. `host` is the address on which it listens.

        Its target is on this machine.
        """
        link = Link(host=host, port=port, target_port=target_port, delay_seconds=delay_seconds)
        self._links[name] = link
        self._do(link.switch(Mode.PASS))

    def port(self, name: str) -> int:
        return self._links[name].port

    def switch(self, mode: Mode, *names: str) -> None:
        for name in names:
            self._do(self._links[name].switch(mode))

    def retarget(self, target_port: int, *names: str, reset: bool = True) -> None:
        for name in names:
            self._do(self._links[name].retarget(target_port, reset=reset))

    def add_rule(self, rule: DropRule, *names: str) -> None:
        for name in names:
            self._do(self._links[name].add_rule(rule))

    def reset(self) -> None:
        """Every link passes again, and all rules are gone."""
        for link in self._links.values():
            self._do(link.clear_rules())
            self._do(link.switch(Mode.PASS))

    def stop(self) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        for link in self._links.values():
            await link.close()
        # A connection that was accepted a moment ago begins: what has not begun is not reset when it is cancelled.
        await asyncio.sleep(0)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)
