"""The shop's web server for tests: each of its processes forgets the pages that it keeps when a test begins.

Without it, each test in a browser waited a second until they were too old.
"""

import asyncio
import os
from typing import Any

# First, since it loads the settings and the apps.
from web.rsgi import application as shop
from web.rsgi import shells

# isort: split
from shop.catalogue import category_tree

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
