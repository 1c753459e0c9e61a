"""A proxy in front of two stubs, once with nginx and once with HAProxy."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.proxies import Proxy, running_haproxy, running_nginx
from tests.deploy.stub_web import StubWeb, running_stub
from tests.embedded_servers import temporary_server_directory

PROXIES = {"nginx": running_nginx, "haproxy": running_haproxy}


@dataclass(frozen=True)
class Front:
    """A proxy and the web servers behind it."""

    proxy: Proxy
    hot: StubWeb
    pages: StubWeb
    kind: str


@pytest.fixture(params=PROXIES)
def front(request: pytest.FixtureRequest) -> Iterator[Front]:
    with ExitStack() as stack:
        directory: Path = stack.enter_context(temporary_server_directory())
        hot, pages = stack.enter_context(running_stub("hot")), stack.enter_context(running_stub("pages"))
        running = PROXIES[request.param](directory, hot_port=hot.port, pages_port=pages.port)
        yield Front(stack.enter_context(running), hot, pages, request.param)
