"""Buyers for load tests: `load-000001`, `load-000002`, …, and a pass for each.

They are ordinary users without a password, so signing in as one is impossible. They are created when first needed and
used again by the next test.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password

from seckill.passes import passes

NAME_PREFIX = "load-"
# Rows of one INSERT or SELECT: large enough to share the round trip, small enough for a progress bar to move.
CHUNK = 2_000


def load_buyer_ids(
    *,
    count: int,
    first: int = 1,
    exclude: Collection[str] = (),
    on_progress: Callable[[int], object] = lambda _ready: None,
) -> list[int]:
    """The ids of `count` load-test buyers, numbered from `first`, without those whose names are in `exclude`.

    `on_progress` is called with the number of buyers that became ready since the last call.
    """
    names = (name for name in map(buyer_name, itertools.count(first)) if name not in exclude)
    wanted = itertools.islice(names, count)
    ids: list[int] = []
    while chunk := list(itertools.islice(wanted, CHUNK)):
        ids += get_or_create_ids(chunk)
        on_progress(len(chunk))
    return ids


def buyer_name(number: int) -> str:
    return f"{NAME_PREFIX}{number:06}"


def get_or_create_ids(names: Sequence[str]) -> list[int]:
    """The ids of the users with these names, in this order. Two tests may create the same users at once."""
    users = get_user_model().objects
    known = dict(users.filter(username__in=names).values_list("username", "pk"))
    missing = [name for name in names if name not in known]
    if missing:
        users.bulk_create(
            [get_user_model()(username=name, password=make_password(None)) for name in missing], ignore_conflicts=True
        )
        known |= dict(users.filter(username__in=missing).values_list("username", "pk"))
    return [known[name] for name in names]


def make_passes(*, item_id: int, buyer_ids: Sequence[int]) -> Iterator[str]:
    """A new pass for each buyer, valid for as long as one from the API."""
    expires_s = passes.expiry_s()
    for buyer_id in buyer_ids:
        yield passes.issue(item_id=item_id, buyer_id=buyer_id, expires_s=expires_s)
