"""The web server on two hosts of a private network, a proxy on the third, and buyers who call them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

from bench.faults.wire.proxy import Proxy
from seckill.models import SaleItem
from shop.local.environment import RunSettings
from shop.local.process import Process, stop_processes
from tests.hosts.private_network import PrivateNetwork
from tests.live_shop import environment, named, wait_for_answer
from tests.steps.caller import ask

# The bound of the API for every answer, with the time that a busy machine takes for it.
ANSWER_SECONDS_MAX = 2.0
PORT = 8000
YES_ON_A_REPLICA = {"SECKILL_YES_REPLICAS": "1", "SECKILL_YES_WAIT_MS": "300"}

# A call that is refused with 503 goes to the other host: a reservation may be repeated, since its pass names it.
NGINX = """\
daemon off;
user root;
worker_processes 1;
error_log stderr warn;
pid {directory}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    upstream shop {{
        server {first}:{port} max_fails=0;
        server {second}:{port} max_fails=0;
    }}
    server {{
        listen {port};
        location / {{
            proxy_pass http://shop;
            proxy_set_header Host $host;
            proxy_connect_timeout 1s;
            proxy_next_upstream error timeout http_503 non_idempotent;
        }}
    }}
}}
"""


class Buyer:
    """Calls one host, on a new connection each time."""

    def __init__(self, address: str, item: SaleItem) -> None:
        self._address = address
        self._path = f"/api/v1/sale-items/{item.pk}/reservations/"

    def reserve(self, pass_text: str) -> str:
        """`yes`, or the word of the refusal. No answer may take longer than ANSWER_SECONDS_MAX."""
        url = f"http://{self._address}:{PORT}"
        answer = ask(url, self._path, 10, method="POST", authorization=f"Pass {pass_text}")
        assert answer.seconds < ANSWER_SECONDS_MAX
        return "yes" if answer.status == 201 else str(json.loads(answer.body)["code"])


@contextmanager
def shop_on(network: PrivateNetwork, directory: Path, **more_environment: str) -> Iterator[None]:
    """The web server on both hosts and nginx on the third. PostgreSQL and the cache are where the test is."""

    def from_there(url: str) -> str:
        address = urlsplit(url)
        return address._replace(netloc=address.netloc.replace("127.0.0.1", network.address)).geturl()

    urls = {**environment(), **more_environment}
    there = {name: from_there(url) if "://" in url else url for name, url in urls.items()}
    there |= {
        "EMAIL_URL": "dummymail://",
        "ALLOWED_HOSTS": ",".join(network.addresses.values()),
        "SHOP_URL": f"http://{network.addresses['proxy']}:{PORT}",
    }
    started: list[Process] = []
    for name in ("first", "second"):
        address = network.addresses[name]
        local = RunSettings(
            host=address, port=PORT, directory=directory / name, own_servers=None, allowed_hosts=[address]
        )
        with mock.patch.dict(os.environ, there):
            web = named("web", settings=local, broker_url=there["REDIS_URL"])
        assert web is not None
        web.argv = network.at(name, web.argv)
        started.append(web)
    configuration = directory / "nginx.conf"
    addresses = {name: network.addresses[name] for name in ("first", "second")}
    configuration.write_text(NGINX.format(directory=directory, port=PORT, **addresses))
    proxy = Process(
        name="nginx",
        title="nginx of a test",
        argv=network.at("proxy", ["nginx", "-e", "stderr", "-p", str(directory), "-c", str(configuration)]),
        log_path=directory / "nginx.log",
        ready=lambda _: True,
    )
    started.append(proxy)
    relay = Proxy()
    try:
        for server in ("DATABASE_URL", "REDIS_URL"):
            port = urlsplit(environment()[server]).port or 0
            relay.add(server, host=network.address, port=port, target_port=port)
        for process in started:
            process.start()
        for process in started:
            wait_for_answer(process)
        yield
    finally:
        stop_processes(processes=started)
        relay.stop()
        for process in started:
            print(f"--- {process.name}\n{process.last_lines(lines_max=40)}")
