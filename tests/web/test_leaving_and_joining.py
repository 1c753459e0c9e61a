"""A host leaves and joins in the middle of a sale, and nobody's answer is lost."""

import http.client
import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction
from django.test import Client
from pytest_django import Settings

from orders.repair.audit import audit
from seckill.models import SaleItem
from shop.models import Product
from tests.live_shop import live_processes, status_of, wait_for_answer
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.caller import ask
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold

# As many as the lane of lists has threads.
SLOW_CALLS = 2
CALLERS = 6
BUYERS = 60


def test_a_draining_host_says_so_and_answers_everything_else(
    client: Client, settings: Settings, tmp_path: Path, db: None
) -> None:
    flag = tmp_path / "drain"
    settings.DRAIN_FILE = str(flag)
    assert client.get("/healthz").status_code == 200
    flag.touch()
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
    assert "no-store" in answer["Cache-Control"]
    assert client.get("/readyz").status_code == 200
    flag.unlink()
    assert client.get("/healthz").json() == {"status": "ok"}


@contextmanager
def locked_products() -> Iterator[None]:
    """Readers of products wait in PostgreSQL."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE shop_product IN ACCESS EXCLUSIVE MODE")
        yield


def waiting_calls() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'shop_product'::regclass")
        return int(cursor.fetchone()[0])


def is_refused(url: str) -> bool:
    """Whether nothing listens on the port any more."""
    try:
        socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=2).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        # The port was closed at this very moment.
        return False
    return False


class Balancer:
    """Sends each call to a host that /healthz calls healthy, on a new connection, and to the next one if it is refused.

    `cut` counts answers that ended before they were whole.
    """

    def __init__(self, urls: list[str]) -> None:
        self.ports = [urlsplit(url).port or 0 for url in urls]
        self.healthy = dict.fromkeys(self.ports, True)
        self.answers: Counter[tuple[int, int]] = Counter()
        self.cut = 0
        # Calls that have chosen a host, by port.
        self.under_way: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._turns = itertools.count()

    def look(self) -> None:
        """Ask every host once."""
        for port in self.ports:
            self.healthy[port] = status_of(f"http://127.0.0.1:{port}/healthz") == 200

    def reserve(self, item: SaleItem, pass_text: str) -> int:
        """The status of the answer to a call, which is repeated until there is one."""
        give_up_s = time.monotonic() + 30
        while time.monotonic() < give_up_s:
            with self._lock:
                up = [port for port in self.ports if self.healthy[port]] or self.ports
                port = up[next(self._turns) % len(up)]
                self.under_way[port] += 1
            try:
                status = self._call(port, item, pass_text)
            finally:
                with self._lock:
                    self.under_way[port] -= 1
            if status:
                return status
        raise AssertionError("no host answers")

    def _call(self, port: int, item: SaleItem, pass_text: str) -> int:
        """The status; 0 if the connection was refused, or the answer was cut."""
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with closing(client):
            try:
                client.connect()
            except OSError:
                return 0
            try:
                path = f"/api/v1/sale-items/{item.pk}/reservations/"
                client.request("POST", path, headers={"Authorization": f"Pass {pass_text}"})
                answer = client.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.cut += 1
                return 0
            with self._lock:
                self.answers[port, answer.status] += 1
            return answer.status


@contextmanager
def load(balancer: Balancer, item: SaleItem, passes: list[str]) -> Iterator[list[int]]:
    """Buyers reserve one after the other, again and again with the same passes, until the end of the `with`."""
    statuses: list[int] = []
    stop = threading.Event()

    def call(mine: list[str]) -> None:
        for text in itertools.cycle(mine):
            if stop.is_set():
                break
            statuses.append(balancer.reserve(item, text))
            time.sleep(0.05)

    threads = [threading.Thread(target=call, args=(passes[number::CALLERS],)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def leave(flag: Path, *, port: int, balancer: Balancer) -> None:
    """As it is to be done before a host is stopped: it drains, and the balancer sends it no more calls."""
    flag.touch()
    wait_until(lambda: balancer.look() or not balancer.healthy[port], seconds_max=10)  # type: ignore[func-returns-value]
    # A call that chose the host before, and whose connection it has not taken yet, would be refused in the middle.
    wait_until(lambda: not balancer.under_way[port], seconds_max=10)


def slow_call(url: str, number: int = 0) -> tuple[int, bytes]:
    """Each with another query: what others have just asked for comes from memory."""
    answer = ask(url, f"/api/v1/products/?page_size={5 + number}", 30)
    return answer.status, answer.body


@pytest.mark.django_db(transaction=True)
def test_of_two_hosts_under_load_one_is_restarted_and_one_stopped_and_every_call_has_its_answer(
    product: Product, pass_for: Callable[..., str], tmp_path: Path
) -> None:
    flags = [tmp_path / "drain-1", tmp_path / "drain-2"]
    item = make_item(product, quantity=BUYERS)
    passes = [pass_for(buyer, item) for buyer in new_buyers(BUYERS)]
    with (
        # Without the gate everything works too.
        live_processes(names=("web",), DRAIN_FILE=str(flags[0]), GATE="0") as (first, first_processes),
        live_processes(names=("web",), DRAIN_FILE=str(flags[1])) as (second, second_processes),
        ThreadPoolExecutor(SLOW_CALLS) as threads,
    ):
        balancer = Balancer([first, second])
        with load(balancer, item, passes) as statuses:
            host, port = first_processes["web"], balancer.ports[0]
            leave(flags[0], port=port, balancer=balancer)
            host.ask_to_stop()
            wait_until(lambda: not host.running, seconds_max=20)
            assert host.exit_code == 0
            flags[0].unlink()
            host.start()
            wait_for_answer(host)
            balancer.look()
            after = balancer.answers[port, 201]
            wait_until(lambda: balancer.answers[port, 201] > after, seconds_max=20)

            # The other one finishes the answers under way.
            host, whole = second_processes["web"], slow_call(second)
            leave(flags[1], port=balancer.ports[1], balancer=balancer)
            with locked_products():
                calls = [threads.submit(slow_call, second, 1 + number) for number in range(SLOW_CALLS)]
                wait_until(lambda: waiting_calls() == SLOW_CALLS, seconds_max=20)
                host.ask_to_stop()
                wait_until(lambda: is_refused(second), seconds_max=20)
                assert host.running
                assert not any(call.done() for call in calls)
            assert [call.result() for call in calls] == [whole] * SLOW_CALLS
            wait_until(lambda: not host.running, seconds_max=20)
            assert host.exit_code == 0
        # A yes again for whoever asks again, from either host.
        assert set(statuses) == {201}
        assert len(statuses) > len(passes)
        assert balancer.cut == 0
    assert left_held_sold(item) == (0, len(passes), 0)
    assert audit(item_id=item.pk).comparison.problem_count == 0
