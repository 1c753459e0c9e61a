"""Two web hosts and a proxy, each in a network namespace: one host is cut off from the store, and the sale goes on."""

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User

from orders import intake
from orders.models import Order
from orders.repair.audit import audit
from seckill import ledger
from seckill.models import SaleItem
from shop.local.environment import RunSettings
from shop.local.process import Process, stop_processes
from shop.models import Product
from tests.conftest import make_item
from tests.hosts.private_network import PrivateNetwork, need_network, private_network
from tests.hosts.relay import relay
from tests.live_shop import environment, named, wait_for_answer
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

UNITS = 60
BUYERS = 80
# The bound of the API for every answer, with the time that a busy machine takes for it.
ANSWER_SECONDS_MAX = 2.0
PORT = 8000

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
        began_s = time.monotonic()
        client = http.client.HTTPConnection(self._address, PORT, timeout=10)
        with closing(client):
            client.request("POST", self._path, headers={"Authorization": f"Pass {pass_text}"})
            answer = client.getresponse()
            body = json.loads(answer.read())
        assert time.monotonic() - began_s < ANSWER_SECONDS_MAX
        return "yes" if answer.status == 201 else str(body["code"])


@contextmanager
def shop_on(network: PrivateNetwork, own_store: OwnStore, directory: Path) -> Iterator[None]:
    """The web server on both hosts and nginx on the third. The stores are where the test is."""

    def from_there(url: str) -> str:
        address = urlsplit(url)
        return address._replace(netloc=address.netloc.replace("127.0.0.1", network.address)).geturl()

    urls = {**environment(), "SECKILL_REDIS_URL": own_store.url}
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
    try:
        for process in started:
            process.start()
        for process in started:
            wait_for_answer(process)
        yield
    finally:
        stop_processes(processes=started)
        for process in started:
            print(f"--- {process.name}\n{process.last_lines(lines_max=40)}")


@contextmanager
def crowd(buyer: Buyer, passes: list[str], told: dict[str, str]) -> Iterator[None]:
    """Buyers at the proxy, one after the other, beside what happens in the `with`. All of them are answered."""

    def buy() -> None:
        for text in passes:
            told[text] = buyer.reserve(text)
            time.sleep(0.05)

    thread = threading.Thread(target=buy)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def test_a_host_that_is_cut_off_from_the_store_says_so_while_the_other_sells(
    server_directory: Path, product: Product, pass_for: Callable[..., str]
) -> None:
    need_network()
    buyers = User.objects.bulk_create([User(username=f"buyer-{number}") for number in range(BUYERS)])
    with (
        private_network("first", "second", "proxy") as network,
        running(server_directory / "store") as own_store,
        as_reservation_store(own_store),
        relay(address=network.address, port=urlsplit(environment()["DATABASE_URL"]).port or 0),
        relay(address=network.address, port=urlsplit(environment()["REDIS_URL"]).port or 0),
    ):
        own_store.client.config_set("bind", f"127.0.0.1 {network.address}")
        item = make_item(product, quantity=UNITS)
        passes = [pass_for(buyer, item) for buyer in buyers]
        told: dict[str, str] = {}
        with shop_on(network, own_store, server_directory):
            first, second, proxy = (Buyer(network.addresses[name], item) for name in ("first", "second", "proxy"))
            for index, buyer in enumerate((first, second, proxy, first, second, proxy)):
                told[passes[index]] = buyer.reserve(passes[index])

            with crowd(proxy, passes[6:46], told), network.cut("first", port=own_store.server.port):
                words = {first.reserve(passes[46]) for _ in range(30)}
                assert words == {"unavailable"}
                # The same pass is good at the other host.
                told[passes[46]] = second.reserve(passes[46])
                assert first.reserve(passes[46]) == "unavailable"
            # Buyers at the proxy were told yes all the time.
            assert set(told.values()) == {"yes"}

            wait_until(lambda: first.reserve(passes[46]) == "yes", seconds_max=10)
            for text in passes[47:]:
                told[text] = first.reserve(text)
            # Whoever was told yes hears it again, from every host.
            for text in passes[:10]:
                assert {buyer.reserve(text) for buyer in (first, second, proxy)} == {"yes"}

        assert list(told.values()).count("yes") == UNITS
        assert {word for word in told.values() if word != "yes"} == {"held_by_others"}
        counters = ledger.read(item_id=item.pk)
        assert counters is not None
        assert (counters.left, counters.held) == (0, UNITS)
        while intake.drain_once(item_id=item.pk):
            pass
        assert Order.objects.count() == UNITS
        assert audit(item_id=item.pk).comparison.problem_count == 0
