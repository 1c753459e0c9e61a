"""The pipeline over TLS, to a real server behind an end of TLS, as managed stores have one."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from seckill import ledger
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause
from tests.own_store import OwnStore, running
from tests.steps.pipelines import ITEM_ID, SECONDS_MAX, TERMS, RunningPipelines, running_at

BUYERS = range(1, 601)


def write_certificate(path: Path) -> None:
    """A certificate for 127.0.0.1 that it has signed itself, and its key, in one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    parts = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), certificate.public_bytes(Encoding.PEM)
    path.write_bytes(b"".join(parts))


class TlsEnd:
    """A port that speaks TLS and hands everything on to the server."""

    def __init__(self, certificate: Path, *, target: int) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate)
        self._target = target
        self._writers: list[asyncio.StreamWriter] = []
        self._copying: list[Any] = []
        self._ready, self.port = threading.Event(), 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        assert self._ready.wait(SECONDS_MAX)

    async def _run(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        # Not `wait_closed`, which waits for connections that the pipeline has left open.
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._copying, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers += [writer, behind_writer]
        self._copying.append(asyncio.current_task())
        await asyncio.gather(copy(reader, behind_writer), copy(behind_reader, writer))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(SECONDS_MAX)


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnStore]:
    with running(tmp_path) as server:
        yield server


@pytest.fixture
def tls_url(server: OwnStore, tmp_path: Path) -> Iterator[str]:
    write_certificate(tmp_path / "server.pem")
    end = TlsEnd(tmp_path / "server.pem", target=server.server.port)
    yield server.url.replace("redis://", "rediss://").replace(f":{server.server.port}", f":{end.port}")
    end.close()


def test_a_crowd_is_answered_over_tls(tls_url: str, tmp_path: Path, web_on_any_loop: RunningPipelines) -> None:
    url = f"{tls_url}?ssl_ca_certs={tmp_path / 'server.pem'}"
    with running_at(url):
        ledger.publish(item_id=ITEM_ID, terms=replace(TERMS, quantity=400))
        answers = web_on_any_loop.reserve_at_once(ITEM_ID, buyer_ids=BUYERS)
        outcomes = [answer.outcome.value for answer in answers if isinstance(answer, ledger.Reservation)]
    assert (outcomes.count("reserved"), outcomes.count("held_by_others")) == (400, 200)


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_url: str, web: RunningPipelines) -> None:
    with running_at(tls_url):
        with pytest.raises(StoreUnreachable) as raised:
            web.reserve(ITEM_ID)
        assert raised.value.cause is Cause.UNREACHABLE
