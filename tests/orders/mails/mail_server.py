"""A small mail server for tests: SMTP on a real socket. It keeps accepted mails and can be made to misbehave."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial


@dataclass
class MailServer:
    """The mails received, and how to answer: addresses in `refuses` get 550; at the command `silent_at` it stops to
    answer and sets `is_silent`; at `drops_at` it drops the connection. CONNECT and END (of a mail) count as commands.
    """

    port: int = 0
    received: list[EmailMessage] = field(default_factory=list)
    connections: int = 0
    refuses: set[str] = field(default_factory=set)
    silent_at: str = ""
    drops_at: str = ""
    is_silent: threading.Event = field(default_factory=threading.Event)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self.answer(writer, "CONNECT", "220 here")
            while line := (await reader.readline()).decode().strip():
                command = line.split(" ")[0].split(":")[0].upper()
                if command == "DATA":
                    await self.answer(writer, "DATA", "354 go on")
                    self.received.append(await mail_from(reader))
                    await self.answer(writer, "END", "250 taken")
                elif command == "RCPT" and any(address in line for address in self.refuses):
                    await self.answer(writer, command, "550 no such buyer")
                else:
                    await self.answer(writer, command, "221 bye" if command == "QUIT" else "250 well")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def answer(self, writer: asyncio.StreamWriter, command: str, line: str) -> None:
        if command == self.silent_at:
            self.is_silent.set()
            # The loop knows of a timer; a task that waits for an event of its own could be collected as garbage.
            await asyncio.sleep(3600)
        if command == self.drops_at:
            raise ConnectionError
        writer.write(f"{line}\r\n".encode())
        await writer.drain()


async def mail_from(reader: asyncio.StreamReader) -> EmailMessage:
    """The lines up to the one with a dot alone; a dot at the start of a line was doubled on the way."""
    lines = []
    while (line := await reader.readline()).rstrip() != b".":
        lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
    return message_from_bytes(b"".join(lines), policy=policy.default)


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Run one in a thread of its own, on a free port of 127.0.0.1."""
    server, ready = MailServer(), threading.Event()
    stops: list[Callable[[], object]] = []

    async def serve() -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        stops.append(partial(loop.call_soon_threadsafe, stopped.set))
        listener = await asyncio.start_server(server.converse, "127.0.0.1", 0)
        server.port = listener.sockets[0].getsockname()[1]
        ready.set()
        await stopped.wait()
        listener.close()

    # asyncio.run cancels the conversations that are still going on.
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        stops[0]()
        thread.join(10)
