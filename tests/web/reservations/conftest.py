"""The shadow of a gate, for tests that compare its answers with the views'."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.web.reservations.shadow import Shadow, shadowed_clients

# On a busy machine, a slow example is not a failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture
def shadow() -> Iterator[Shadow]:
    """A gate that gives, after each call of a test's client, the same answer as the view, or none."""
    with shadowed_clients() as followed:
        yield followed
