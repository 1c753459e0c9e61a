"""A TCP proxy of our own: between two processes it passes, stalls, cuts, refuses, or loses what a trap waits for.

It runs in a thread with an event loop. Links are made and switched from any other thread.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

HOST = "127.0.0.1"
CHUNK = 65_536


class Mode(StrEnum):
    """PASS lets everything through; STALL takes and keeps; CUT resets each connection; REFUSE does not listen."""

    PASS = "pass"
    STALL = "stall"
    CUT = "cut"
    REFUSE = "refuse"


@dataclass(kw_only=True)
class Trap:
    """Waits on a link for requests that contain `pattern`, after one with `prelude` on the same connection if given.

    The connection of such a request is reset: with `deliver` after the server has answered, whose answer is lost;
    without it before the server hears of the request. `left` is how often it will spring; `sprung` is set at the first.
    """

    pattern: bytes
    deliver: bool
    left: int = 1
    prelude: bytes = b""
    sprung: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class Wire:
    """One connection through a link."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    had_prelude: bool = False
    loses_answer: bool = False

    def reset(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


class Link:
    """One listening port and where it leads. Everything but `port` and `mode` belongs to the loop's thread."""

    def __init__(self, *, port: int, target_port: int) -> None:
        self.port = port
        self.mode = Mode.PASS
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._wires: set[Wire] = set()
        self._traps: list[Trap] = []
        self._flows = asyncio.Event()
        self._flows.set()

    async def switch(self, mode: Mode) -> None:
        """Change what happens to connections, those that exist too."""
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
            self._server = await asyncio.start_server(self._serve, HOST, self.port)

    async def lead_to(self, target_port: int) -> None:
        """Lead elsewhere from now on; what is connected to the former target is reset."""
        self._target_port = target_port
        self.reset_all()

    async def arm(self, trap: Trap) -> None:
        self._traps.append(trap)

    async def disarm(self) -> None:
        self._traps.clear()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def reset_all(self) -> None:
        for wire in list(self._wires):
            wire.reset()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from accept to reset."""
        if self.mode is Mode.CUT:
            writer.transport.abort()
            return
        await self._flows.wait()
        try:
            server_reader, server_writer = await asyncio.open_connection(HOST, self._target_port)
        except OSError:
            writer.transport.abort()
            return
        wire = Wire(client=writer, server=server_writer)
        self._wires.add(wire)
        try:
            requests = asyncio.create_task(self._pump(reader, server_writer, lambda data: self._on_request(wire, data)))
            answers = asyncio.create_task(self._pump(server_reader, writer, lambda data: not wire.loses_answer))
            await asyncio.wait([requests, answers], return_when=asyncio.FIRST_COMPLETED)
            for task in (requests, answers):
                task.cancel()
            await asyncio.gather(requests, answers, return_exceptions=True)
        finally:
            self._wires.discard(wire)
            await self._farewell(writer)
            wire.reset()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, may_pass: Callable[[bytes], bool]
    ) -> None:
        """Carry one direction until it ends, or until something must not pass."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._flows.wait()
                if not may_pass(data):
                    return
                writer.write(data)
                await writer.drain()

    async def _farewell(self, writer: asyncio.StreamWriter) -> None:
        """What was passed on must arrive, such as the last words of a server, before the reset."""
        with contextlib.suppress(OSError):
            writer.close()
            async with asyncio.timeout(1):
                await writer.wait_closed()

    def _on_request(self, wire: Wire, data: bytes) -> bool:
        """Whether the request goes on to the server. A trap that it springs decides otherwise, or over its answer."""
        for trap in self._traps:
            if trap.prelude and trap.prelude in data:
                wire.had_prelude = True
            if trap.left <= 0 or trap.pattern not in data or (trap.prelude and not wire.had_prelude):
                continue
            trap.left -= 1
            trap.sprung.set()
            wire.had_prelude = False
            wire.loses_answer = True
            if not trap.deliver:
                wire.reset()
            return trap.deliver
        return True


class Proxy:
    """The links of a site, in a thread of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._links: dict[str, Link] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()

    def add(self, name: str, *, port: int, target_port: int) -> None:
        """A new link, which passes."""
        link = Link(port=port, target_port=target_port)
        self._links[name] = link
        self._do(link.switch(Mode.PASS))

    def port(self, name: str) -> int:
        return self._links[name].port

    def switch(self, mode: Mode, *names: str) -> None:
        for name in names:
            self._do(self._links[name].switch(mode))

    def lead_to(self, target_port: int, *names: str) -> None:
        for name in names:
            self._do(self._links[name].lead_to(target_port))

    def arm(self, trap: Trap, *names: str) -> None:
        for name in names:
            self._do(self._links[name].arm(trap))

    def calm(self) -> None:
        """Every link passes again, and no trap is left."""
        for link in self._links.values():
            self._do(link.disarm())
            self._do(link.switch(Mode.PASS))

    def stop(self) -> None:
        """Close all ports and end the thread."""
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        for link in self._links.values():
            await link.close()
            link.reset_all()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)
