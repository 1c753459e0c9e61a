"""nginx and HAProxy with the files of `deploy/`, in front of the two web processes."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench.faults.wire.http_client import request
from shop.local.ports import free_ports
from shop.local.process import Process, ProcessFailed

DEPLOY = Path(__file__).parents[3] / "deploy"
# Debian's daemons are in directories that only root has in PATH.
PROGRAMS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"])
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def front_proxy(program: str, *, directory: Path, port: int, hot_port: int, pages_port: int) -> Process:
    """`nginx` or `haproxy`, not started, for plain HTTP at `port`. Raises ProcessFailed if it is not installed."""
    path = shutil.which(program, path=PROGRAMS)
    if path is None:
        raise ProcessFailed(f"{program} is not installed.")
    directory.mkdir(exist_ok=True)
    make_certificate(directory)
    (https_port,) = free_ports(count=1)
    addresses = {
        "STAMPEDE_HTTP": f"127.0.0.1:{port}",
        "STAMPEDE_HTTPS": f"127.0.0.1:{https_port}",
        "STAMPEDE_CERTIFICATE": str(directory / "shop.pem"),
        "STAMPEDE_HOT": f"127.0.0.1:{hot_port}",
        "STAMPEDE_PAGES": f"127.0.0.1:{pages_port}",
    }
    arguments = ["-f", str(DEPLOY / "haproxy" / "haproxy.cfg")]
    if program == "nginx":
        arguments = ["-p", str(directory), "-c", str(nginx_conf(directory, addresses=addresses)), "-e", "stderr"]
    return Process(
        name=program,
        title=program,
        argv=[path, *arguments],
        log_path=directory / "proxy.log",
        ready=lambda _: request(port, "GET", "/healthz").status == 200,
        environment={**os.environ, **addresses},
        directory=directory,
    )


def make_certificate(directory: Path) -> None:
    """The files of `deploy/` listen for TLS too."""
    key, certificate = directory / "tls.key", directory / "tls.crt"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=shop.example"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    (directory / "shop.pem").write_bytes(certificate.read_bytes() + key.read_bytes())


def nginx_conf(directory: Path, *, addresses: Mapping[str, str]) -> Path:
    """A copy of the files as they are installed, at other addresses. IPv6 is left out: not every machine has it."""
    changes = {
        "listen 80;": f"listen {addresses['STAMPEDE_HTTP']};",
        "listen 443 ssl": f"listen {addresses['STAMPEDE_HTTPS']} ssl",
        "listen [::]:80;": "",
        "listen [::]:443 ssl http2;": "",
        "127.0.0.1:8001": addresses["STAMPEDE_HOT"],
        "127.0.0.1:8002": addresses["STAMPEDE_PAGES"],
        "/etc/stampede/tls": str(directory),
        "/tmp/stampede-cache": str(directory / "cache"),
    }
    (directory / "stampede").mkdir(exist_ok=True)
    for name in ("stampede.conf", "listen.conf", "admin.conf", "upstreams.conf"):
        text = (DEPLOY / "nginx" / name).read_text()
        for old, new in changes.items():
            text = text.replace(old, new)
        (directory / "stampede" / name).write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    places = "".join(f"{name}_temp_path {directory}/{name}; " for name in TEMPORARY)
    main = directory / "nginx.conf"
    main.write_text(
        f"{user} daemon off; worker_processes 1; pid {directory}/nginx.pid; events {{ worker_connections 1024; }}\n"
        f"http {{ access_log {directory}/access.log; {places} include stampede/stampede.conf; }}\n"
    )
    return main
