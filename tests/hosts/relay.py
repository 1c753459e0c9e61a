"""Makes a server that listens on 127.0.0.1 reachable from another network."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def relay(*, address: str, port: int) -> Iterator[None]:
    """Connections to `address`:`port` go to the same port of 127.0.0.1, for the length of a `with`."""
    loop = asyncio.new_event_loop()
    listening = threading.Event()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))

    async def serve() -> None:
        server = await asyncio.start_server(take, address, port)
        listening.set()
        with suppress(asyncio.CancelledError):
            await server.serve_forever()

    thread = threading.Thread(target=loop.run_until_complete, args=(serving := loop.create_task(serve()),))
    thread.start()
    try:
        assert listening.wait(5)
        yield
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        loop.close()
