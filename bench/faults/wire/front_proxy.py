"""nginx and HAProxy with the files of `deploy/`, at other addresses and with a certificate of their own.

For faults, and for the tests of these files.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shop.local.process import Process, ProcessFailed

HOST = "shop.example"
DEPLOY = Path(__file__).parents[3] / "deploy"
# Debian's daemons are in directories that only root has in PATH.
PROGRAMS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"])

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPorts:
    """Where a proxy listens, and where the web processes behind it do."""

    http: int
    https: int
    hot: int
    pages: int


def front_proxy(program: str, *, directory: Path, ports: FrontPorts, ready: Callable[[Process], bool]) -> Process:
    """`nginx` or `haproxy`, not started. Raises ProcessFailed if it is not installed."""
    path = shutil.which(program, path=PROGRAMS)
    if path is None:
        raise ProcessFailed(f"{program} is not installed.")
    make_certificate(directory / "tls")
    arguments = ["-f", str(DEPLOY / "haproxy" / "haproxy.cfg")]
    if program == "nginx":
        changes = {
            **listen_on(http_port=ports.http, https_port=ports.https),
            "127.0.0.1:8001": f"127.0.0.1:{ports.hot}",
            "127.0.0.1:8002": f"127.0.0.1:{ports.pages}",
        }
        main = nginx_tree(directory, files=nginx_files(), changes=changes)
        arguments = ["-p", str(directory), "-c", str(main), "-e", "stderr"]
    return Process(
        name=program,
        title=program,
        argv=[path, *arguments],
        log_path=directory / "proxy.log",
        ready=ready,
        environment={**os.environ, **haproxy_environment(directory, ports=ports)},
        directory=directory,
    )


def make_certificate(directory: Path) -> None:
    """tls.crt, tls.key, and both together in shop.pem, good for an hour before and after now."""
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


def nginx_tree(directory: Path, *, files: Mapping[str, str], changes: Mapping[str, str]) -> Path:
    """A copy of /etc/nginx below `directory`, from `files` by their place there. Returns nginx.conf.

    `changes` are applied to the text of each; every one must be found somewhere.
    """
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


def nginx_files() -> dict[str, str]:
    """The files as they are installed."""
    nginx = DEPLOY / "nginx"
    installed = {"conf.d/stampede.conf": (nginx / "stampede.conf").read_text()}
    for name in ("listen.conf", "admin.conf", "upstreams.conf"):
        installed[f"stampede/{name}"] = (nginx / name).read_text()
    return installed


def listen_on(*, http_port: int, https_port: int) -> dict[str, str]:
    """Changes of listen.conf. IPv6 is left out, since not every machine has it."""
    return {
        "listen 80;": f"listen 127.0.0.1:{http_port};",
        "listen 443 ssl": f"listen 127.0.0.1:{https_port} ssl",
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
    }


def haproxy_environment(directory: Path, *, ports: FrontPorts) -> dict[str, str]:
    return {
        "STAMPEDE_HTTP": f"127.0.0.1:{ports.http}",
        "STAMPEDE_HTTPS": f"127.0.0.1:{ports.https}",
        "STAMPEDE_CERTIFICATE": str(directory / "tls" / "shop.pem"),
        "STAMPEDE_HOT": f"127.0.0.1:{ports.hot}",
        "STAMPEDE_PAGES": f"127.0.0.1:{ports.pages}",
    }
