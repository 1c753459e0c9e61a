"""A client that costs almost nothing: the bytes of all calls are ready before, and answers are only counted.

So the server's own speed is what is measured, also where client and server share few cores. While a portion is
answered, the next one is under way already.
"""

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import closing

from bench.measure.speed.part import WrongAnswer

# Calls that are sent at once.
PORTION = 500
CHUNK = 65_536
ANSWER_SECONDS_MAX = 10.0


class PipelinedClient:
    """One connection to one server."""

    def __init__(self, *, port: int, password: str) -> None:
        """Raises WrongAnswer."""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX)
        self._socket.sendall(f"AUTH {password}\r\n".encode())
        if not (answer := self._socket.recv(CHUNK)).startswith(b"+OK"):
            raise WrongAnswer(f"AUTH was answered {answer!r}")

    def close(self) -> None:
        self._socket.close()

    def send(self, calls: Sequence[bytes], *, word: str) -> float:
        """Send all calls, and return the seconds until the last answer. Raises WrongAnswer unless each is `word`."""
        portions = [b"".join(calls[start : start + PORTION]) for start in range(0, len(calls), PORTION)]
        # The first element of an array, whatever follows it.
        counted = f"\r\n${len(word)}\r\n{word}\r\n".encode()
        sent = answered = 0
        rest = b""
        began_s = time.perf_counter()
        while answered < len(calls):
            while sent < len(portions) and answered >= (sent - 1) * PORTION:
                self._socket.sendall(portions[sent])
                sent += 1
            try:
                data = rest + self._socket.recv(CHUNK)
            except TimeoutError:
                data = rest
            if len(data) == len(rest):
                raise WrongAnswer(
                    f"{answered:,} of {len(calls):,} calls were answered {word}; the last bytes: {rest!r}"
                )
            *answers, tail = data.split(counted)
            answered += len(answers)
            # This may be the beginning of the next one.
            rest = tail[-len(counted) :]
        return time.perf_counter() - began_s


def send_together(work: Sequence[tuple[PipelinedClient, Sequence[bytes]]], *, word: str) -> float:
    """All clients at once: the seconds until the last one has ended. Raises WrongAnswer."""
    wrong: list[WrongAnswer] = []

    def send(client: PipelinedClient, calls: Sequence[bytes]) -> None:
        try:
            client.send(calls, word=word)
        except WrongAnswer as error:
            wrong.append(error)

    threads = [threading.Thread(target=send, args=one) for one in work]
    began_s = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]
    return time.perf_counter() - began_s


def connected(*, port: int, password: str) -> closing[PipelinedClient]:
    """A client for the length of a `with`."""
    return closing(PipelinedClient(port=port, password=password))
