"""nginx and HAProxy with the files of `deploy/`, at ports of the test and with a certificate of its own."""

import os
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shop.local.process import POLL_SECONDS, Process, stop_processes
from tests.deploy.programs import DEPLOY, program
from tests.own_store import free_port

HOST = "shop.example"
START_SECONDS = 20.0

# What a distribution's nginx.conf does before it includes conf.d.
NGINX = """\
{user}
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log notice;
events {{ worker_connections 1024; }}
http {{
    access_log {directory}/access.log;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    include conf.d/*.conf;
}}
"""


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A proxy that runs, for `shop.example`."""

    http_port: int
    https_port: int

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        plain: bool = False,
        client: str = "127.0.0.1",
    ) -> tuple[HTTPResponse, bytes]:
        """One call over TLS, or without it where `plain`, on a connection of its own from the address `client`."""
        connection: HTTPConnection
        if plain:
            connection = HTTPConnection("127.0.0.1", self.http_port, timeout=30, source_address=(client, 0))
        else:
            # The certificate is the test's own.
            context = ssl._create_unverified_context()
            connection = HTTPSConnection(
                "127.0.0.1", self.https_port, timeout=30, context=context, source_address=(client, 0)
            )
        try:
            connection.request(method, path, body=body, headers={"Host": HOST, **(headers or {})})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()


def make_certificate(directory: Path) -> None:
    """tls.crt, tls.key, and both together in shop.pem, good for an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tls.crt").write_bytes(public)
    (directory / "tls.key").write_bytes(secret)
    (directory / "shop.pem").write_bytes(public + secret)


def nginx_tree(directory: Path, *, files: dict[str, str], changes: dict[str, str]) -> Path:
    """A copy of /etc/nginx below `directory`, from `files` by their place there. Returns nginx.conf.

    `changes` are applied to the text of each; every one must be found somewhere.
    """
    make_certificate(directory / "tls")
    changes = {**changes, "/etc/stampede/tls": f"{directory}/tls", "/tmp/stampede-cache": f"{directory}/cache"}
    found = set()
    for place, text in files.items():
        for old, new in changes.items():
            if old in text:
                found.add(old)
                text = text.replace(old, new)
        (directory / place).parent.mkdir(parents=True, exist_ok=True)
        (directory / place).write_text(text)
    assert found == set(changes), f"not in the files: {set(changes) - found}"
    main = directory / "nginx.conf"
    main.write_text(NGINX.format(user="user root;" if os.geteuid() == 0 else "", directory=directory))
    return main


def nginx_files(*, upstreams: str = "upstreams.conf") -> dict[str, str]:
    """The files as they are installed."""
    nginx = DEPLOY / "nginx"
    return {
        "conf.d/stampede.conf": (nginx / "stampede.conf").read_text(),
        "stampede/listen.conf": (nginx / "listen.conf").read_text(),
        "stampede/admin.conf": (nginx / "admin.conf").read_text(),
        "stampede/upstreams.conf": (nginx / upstreams).read_text(),
    }


def listen_on(*, http_port: int, https_port: int) -> dict[str, str]:
    """Changes of listen.conf. IPv6 is left out, since not every machine has it."""
    return {
        "listen 80;": f"listen 127.0.0.1:{http_port};",
        "listen 443 ssl": f"listen 127.0.0.1:{https_port} ssl",
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
    }


@contextmanager
def running_nginx(directory: Path, *, hot_port: int, pages_port: int) -> Iterator[Proxy]:
    proxy = Proxy(http_port=free_port(), https_port=free_port())
    changes = {
        **listen_on(http_port=proxy.http_port, https_port=proxy.https_port),
        "127.0.0.1:8001": f"127.0.0.1:{hot_port}",
        "127.0.0.1:8002": f"127.0.0.1:{pages_port}",
    }
    nginx = program("nginx", package="Debian: apt install nginx-light")
    main = nginx_tree(directory, files=nginx_files(), changes=changes)
    with _running(proxy, [nginx, "-p", str(directory), "-c", str(main), "-e", "stderr"], directory=directory, more={}):
        yield proxy


@contextmanager
def running_haproxy(directory: Path, *, hot_port: int, pages_port: int) -> Iterator[Proxy]:
    proxy = Proxy(http_port=free_port(), https_port=free_port())
    haproxy = program("haproxy", package="Debian: apt install haproxy")
    make_certificate(directory / "tls")
    more = haproxy_environment(directory, proxy=proxy, hot_port=hot_port, pages_port=pages_port)
    with _running(proxy, [haproxy, "-f", str(DEPLOY / "haproxy" / "haproxy.cfg")], directory=directory, more=more):
        yield proxy


def haproxy_environment(directory: Path, *, proxy: Proxy, hot_port: int, pages_port: int) -> dict[str, str]:
    return {
        "STAMPEDE_HTTP": f"127.0.0.1:{proxy.http_port}",
        "STAMPEDE_HTTPS": f"127.0.0.1:{proxy.https_port}",
        "STAMPEDE_CERTIFICATE": str(directory / "tls" / "shop.pem"),
        "STAMPEDE_HOT": f"127.0.0.1:{hot_port}",
        "STAMPEDE_PAGES": f"127.0.0.1:{pages_port}",
    }


@contextmanager
def _running(proxy: Proxy, argv: list[str], *, directory: Path, more: dict[str, str]) -> Iterator[None]:
    process = Process(
        name="proxy",
        title="proxy",
        argv=argv,
        log_path=directory / "proxy.log",
        ready=lambda _: _listens(proxy),
        environment={**os.environ, **more},
        directory=directory,
    )
    process.start()
    try:
        give_up_s = time.monotonic() + START_SECONDS
        while not process.answers():
            assert time.monotonic() < give_up_s, process.last_lines()
            time.sleep(POLL_SECONDS)
        yield
    finally:
        stop_processes(processes=[process])
        print(process.last_lines(lines_max=60))


def _listens(proxy: Proxy) -> bool:
    """Whether it serves, and reaches a web process."""
    try:
        response, _body = proxy.ask("/healthz", plain=True, headers={"Host": "localhost"})
    except (OSError, HTTPException):
        return False
    return response.status == 200
