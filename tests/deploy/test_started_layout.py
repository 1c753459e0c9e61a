"""The units of systemd as processes, behind nginx or HAProxy with the real files: a purchase, over TLS."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from redis import Redis

from bench.faults.wire.front_proxy import HOST
from orders.models import Order, OrderStatus
from seckill.models import SaleItem
from shop.local.ports import free_port
from shop.local.process import stop_processes
from tests.deploy.programs import DEPLOY, ROOT
from tests.deploy.proxies import Proxy, running_proxy
from tests.deploy.unit_files import Host
from tests.embedded_servers import temporary_server_directory
from tests.live_shop import START_SECONDS, environment, status_of
from tests.processes import wait_until
from tests.steps.operating import list_static_files

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEMD = DEPLOY / "systemd"


@dataclass(frozen=True, kw_only=True)
class Started:
    hot_port: int
    pages_port: int
    drain_file: Path


@contextmanager
def started(directory: Path) -> Iterator[Started]:
    """Two web servers, the worker that writes orders, and a beat. The other workers are of the same unit."""
    ports = [free_port(), free_port()]
    etc = directory / "etc"
    etc.mkdir()
    for path in SYSTEMD.glob("*.env"):
        (etc / path.name).write_text(path.read_text())
    for port in ports:
        (etc / f"web-{port}.env").write_text("GRANIAN_WORKERS=1\n")
    servers = {**environment(), "LOAD_TESTS": "0", "PAYMENT_PROVIDERS": ""}
    example = (DEPLOY / "stampede.env.example").read_text()
    # A template that was not filled in does not start.
    (etc / "stampede.env").write_text(re.sub(r"[A-Z]+-PASSWORD|A-LONG-RANDOM-TEXT", "filled-in-" * 4, example))
    places = {
        "/etc/stampede": etc,
        "/srv/stampede": ROOT,
        "/run": directory / "run",
        "/var/lib/stampede": directory / "state",
    }
    host = Host(places=places, environment=servers)
    Redis.from_url(servers["CELERY_BROKER_URL"]).flushdb()
    # What stampede-prepare leaves: test_containerfile.py and test_readme_commands.py make it.
    list_static_files(host.place("/var/lib/stampede"))
    names = [*(("web", str(port)) for port in ports), ("worker", "drain"), ("beat", "1")]
    logs = directory / "logs"
    processes = [
        host.process(SYSTEMD / f"stampede-{kind}@.service", instance=instance, logs=logs) for kind, instance in names
    ]
    try:
        for process in processes:
            process.start()
        wait_until(lambda: all(is_healthy(port) for port in ports), seconds_max=START_SECONDS)
        yield Started(
            hot_port=ports[0],
            pages_port=ports[1],
            drain_file=host.place(f"/run/stampede-web-{ports[0]}/draining"),
        )
        assert [process.last_lines() for process in processes if not process.running] == []
    finally:
        stop_processes(processes=processes)
        for process in processes:
            print(f"--- {process.title}\n{process.last_lines(lines_max=40)}")


def is_healthy(port: int) -> bool:
    # A name that the shop answers to, whatever its address.
    return status_of(f"http://localhost:{port}/healthz") == 200


class Buyer:
    """Speaks to the API through the proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    def call(self, method: str, path: str, *, authorization: str = "", body: dict[str, Any] | None = None) -> Any:
        headers = {"Content-Type": "application/json"} if method == "POST" else {}
        headers |= {"Authorization": authorization} if authorization else {}
        content = json.dumps(body or {}).encode() if method == "POST" else None
        response, answer = self.proxy.ask(f"/api/v1/{path}", method=method, headers=headers, body=content)
        assert response.status in (200, 201), f"{method} {path}: {response.status} {answer[:300]!r}"
        return json.loads(answer)

    def buy_one(self, user: User, item: SaleItem) -> str:
        """From signing in to the order in PostgreSQL. Returns the reservation's id."""
        name = {"username": user.username, "password": f"{user.username}-password"}
        bearer = f"Bearer {self.call('POST', 'auth/token/', body=name)['token']}"
        text = self.call("POST", f"sale-items/{item.pk}/passes/", authorization=bearer)["pass"]
        reserve: dict[str, Any] = {"authorization": f"Pass {text}", "body": {"units": 1}}
        reservation = self.call("POST", f"sale-items/{item.pk}/reservations/", **reserve)
        again = self.call("POST", f"sale-items/{item.pk}/reservations/", **reserve)
        assert again["id"] == reservation["id"]
        wait_until(
            lambda: (
                self.call("GET", f"reservations/{reservation['id']}/", authorization=bearer)["status"]
                == "awaiting_payment"
            ),
            seconds_max=30,
        )
        return str(reservation["id"])


@pytest.fixture
def buyers(buyer: User, rival: User) -> list[User]:
    """With passwords that the processes of the shop can check: they do not know the cheap hasher of the tests."""
    for user in (buyer, rival):
        user.password = PBKDF2PasswordHasher().encode(f"{user.username}-password", "salt", iterations=1_000)
        user.save(update_fields=["password"])
    return [buyer, rival]


def test_a_unit_is_bought_through_each_proxy(buyers: list[User], item: SaleItem) -> None:
    with ExitStack() as stack:
        directory = stack.enter_context(temporary_server_directory())
        shop = stack.enter_context(started(directory))
        ports = {"hot_port": shop.hot_port, "pages_port": shop.pages_port}
        nginx = Buyer(stack.enter_context(running_proxy("nginx", directory / "nginx", **ports)))
        haproxy = Buyer(stack.enter_context(running_proxy("haproxy", directory / "haproxy", **ports)))

        # When one buyer comes by nginx and one by HAProxy
        reservations = {nginx.buy_one(buyers[0], item), haproxy.buy_one(buyers[1], item)}

        # Then each has an order
        orders = Order.objects.filter(lines__sale_item=item)
        assert {str(order.reservation_id) for order in orders} == reservations
        assert {order.status for order in orders} == {OrderStatus.AWAITING_PAYMENT}

        live = f"/api/v1/sale-items/{item.pk}/live/"
        for proxy in (nginx.proxy, haproxy.proxy):
            # And everybody sees it
            response, body = proxy.ask(live)
            assert json.loads(body)["left"] == 3
            news, _body = proxy.ask(live, headers={"If-None-Match": response.headers["ETag"]})
            assert news.status in (200, 304)
            # Pages come over TLS, and without it lead there
            page, body = proxy.ask("/zh-hans/")
            assert page.status == 200
            assert page.headers["Cache-Control"] == "public, max-age=1"
            led, _body = proxy.ask("/zh-hans/", plain=True)
            assert (led.status, led.headers["Location"]) == (301, f"https://{HOST}/zh-hans/")
            assert proxy.ask("/metrics")[0].status == 404

        # When the hot web server drains, then it says so and answers all the same
        shop.drain_file.touch()
        assert not is_healthy(shop.hot_port)
        assert is_healthy(shop.pages_port)
        for proxy in (nginx.proxy, haproxy.proxy):
            assert proxy.ask(live)[0].status == 200
