"""The shop's web server for tests: each of its processes forgets the pages that it keeps when a test begins.

Without it, each test in a browser waited a second until they were too old. And it asks for a small proof of work: a
browser computed one of the real size for seconds, on a busy machine for a minute.
"""

import asyncio
import os
from typing import Any

# First, since it loads the settings and the apps.
from web.rsgi import application as shop
from web.rsgi import shells

# isort: split
from seckill.guards import proof_of_work
from shop.catalogue import category_tree

proof_of_work.TRIES = 100

# The path of a file that grows when a test begins (tests/shared_shop.py).
FORGET_FILE = os.environ["FORGET_FILE"]


class ForgetfulApplication:
    def __init__(self) -> None:
        self._bytes_seen = 0

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        shop.__rsgi_init__(loop)

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        found = os.stat(FORGET_FILE).st_size
        if found != self._bytes_seen:
            self._bytes_seen = found
            category_tree.menu.forget()
            if shells is not None:
                shells._kept.clear()
                shells._answers.clear()
        await shop.__rsgi__(scope, protocol)


application = ForgetfulApplication()
