"""A process that is killed at one place, within a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest

from shop import failpoints


class Killed(BaseException):
    """Stands for SIGKILL: no handler in the shop catches it."""


@contextmanager
def killed_at(place: str) -> Iterator[None]:
    """What the block does ends at this failpoint. A block that does not reach it fails."""

    def reach(name: str) -> None:
        if name == place:
            raise Killed

    with mock.patch.object(failpoints, "reach", reach), pytest.raises(Killed):
        yield
