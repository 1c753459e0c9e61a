"""How the processes of a run share the tests: a file at a time, and the files with the shared shop in two groups.

One process alone with all of these would be the last to end. A group for each file would start a shop for each.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from tests import shared_shop
from tests.slow_tests import is_slow

ROOT = Path(__file__).resolve().parent.parent
SHARED_SHOP = "the shared shop"
SHARED_SHOP_OF_VISITORS = "the shared shop in the browsers of visitors and buyers"


def whole_files(config: pytest.Config, log: Any) -> Any:
    """As `--dist loadfile`, except for the files with the shared shop, of which each half goes together."""
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = kept_together
    return scheduler


def kept_together(nodeid: str) -> str:
    path = nodeid.split("::", 1)[0]
    if not has_shared_shop(ROOT / path):
        return path
    # The rooms beside these files (staff, fairness) take as long as they do.
    return SHARED_SHOP_OF_VISITORS if Path(path).parent == Path("tests/browser") else SHARED_SHOP


@cache
def has_shared_shop(path: Path) -> bool:
    """Read from the file, since the process that shares out the tests knows only their names."""
    return f"{shared_shop.FIXTURE}: str" in path.read_text()


def mark(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)


def put_in_order(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no process is left alone with it at the end: quick files fill the gaps.

    Of the files with the shared shop those with a browser come last, so that it is started once.
    """
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}

    def place(item: pytest.Item) -> tuple[int, bool]:
        if has_shared_shop(item.path):
            return 0, "browser" in item.path.parts
        return (1 if item.path in slow_files else 2), False

    items.sort(key=place)
