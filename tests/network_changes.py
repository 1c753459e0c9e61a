"""Chromium gives up what it is loading when the machine gets or loses an address (ERR_NETWORK_CHANGED).

So a private network (tests/hosts) is built and removed while no test uses a browser. Those tests run in other
processes, hence a lock of a file.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

# Chromium needs some 40 ms.
HEARD_SECONDS = 0.5


@contextmanager
def no_network_changes() -> Iterator[None]:
    with ExitStack() as held:
        with _locked("turn", fcntl.LOCK_EX):
            held.enter_context(_locked("changes", fcntl.LOCK_SH))
        yield


@contextmanager
def network_change() -> Iterator[None]:
    """Waits for the tests that use a browser now. Those that begin meanwhile wait for this: there may always be one."""
    with _locked("turn", fcntl.LOCK_EX), _locked("changes", fcntl.LOCK_EX):
        yield
        time.sleep(HEARD_SECONDS)


@contextmanager
def _locked(name: str, how: int) -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"stampede-network-{name}-{os.getuid()}"
    with path.open("w") as file:
        fcntl.flock(file, how)
        yield
