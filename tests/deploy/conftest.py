"""A proxy in front of two stubs, once with nginx and once with HAProxy."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.test import Client

from orders import tasks
from orders.repair.audit import remember_result
from orders.repair.nightly_stock_audit import audit_stock_if_due
from seckill.models import SaleItem
from seckill.store.weak_settings import judge_settings
from shop.background import sweep_notes
from tests.deploy.proxies import PACKAGES, Proxy, running_proxy
from tests.deploy.stub_web import StubWeb
from tests.embedded_servers import temporary_server_directory
from tests.steps.shop import other_item


@dataclass(frozen=True)
class Front:
    """A proxy and the web servers behind it."""

    proxy: Proxy
    hot: StubWeb
    pages: StubWeb
    kind: str


@contextmanager
def running_front(kind: str) -> Iterator[Front]:
    with ExitStack() as stack:
        directory: Path = stack.enter_context(temporary_server_directory())
        hot, pages = (stack.enter_context(closing(StubWeb(name))) for name in ("hot", "pages"))
        running = running_proxy(kind, directory, hot_port=hot.port, pages_port=pages.port)
        yield Front(stack.enter_context(running), hot, pages, kind)


@pytest.fixture(scope="module", params=PACKAGES)
def front_of_the_file(request: pytest.FixtureRequest) -> Iterator[Front]:
    with running_front(request.param) as front:
        yield front


@pytest.fixture
def front(front_of_the_file: Front) -> Front:
    """The web servers have no calls and no answers of the test before. The proxy may keep a page for a second."""
    for stub in (front_of_the_file.hot, front_of_the_file.pages):
        stub.calls.clear()
        stub.answers.clear()
    return front_of_the_file


@pytest.fixture(params=PACKAGES)
def failing_front(request: pytest.FixtureRequest) -> Iterator[Front]:
    """For a test in which web servers fail: the proxy does not ask them for a while."""
    with running_front(request.param) as front:
        yield front


@pytest.fixture
def scrape(client: Client, item: SaleItem) -> str:
    """What /metrics says of a shop with a sale, a waiting room and an audit."""
    other_item(opens_in_seconds=300, has_room=True)
    tasks.move_waiting_rooms()
    remember_result(problems_of_item={item.pk: 0})
    judge_settings()
    audit_stock_if_due()
    sweep_notes.note_success("settle_orders", waited_seconds=1.0)
    sweep_notes.write()
    return client.get("/metrics").content.decode()
