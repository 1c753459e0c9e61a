"""Buyers for load tests: `load-000001`, `load-000002`, …, and a pass for each.

They are ordinary users without a password, so nobody can sign in as one. They are made when first needed and used again
by the next test.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count, islice

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password

from seckill import passes

NAME_PREFIX = "load-"
# Rows of one INSERT or SELECT: large enough to share the round trip, small enough for a progress bar to move.
CHUNK = 2_000


def assemble(
    *,
    buyers_count: int,
    first: int = 1,
    besides: Collection[str] = (),
    advance: Callable[[int], object] = lambda _count: None,
) -> list[int]:
    """The ids of `buyers_count` load-test buyers, numbered from `first`, without those whose names are in `besides`.

    `advance` is told of every so many more that are ready.
    """
    names = islice((name for name in map(name_of, count(first)) if name not in besides), buyers_count)
    ids: list[int] = []
    while chunk := list(islice(names, CHUNK)):
        ids += ids_of(chunk)
        advance(len(chunk))
    return ids


def name_of(number: int) -> str:
    return f"{NAME_PREFIX}{number:06}"


def ids_of(names: Sequence[str]) -> list[int]:
    """The ids behind the names, in their order; users that are missing are made. Two tests may do it at once."""
    users = get_user_model().objects
    known = dict(users.filter(username__in=names).values_list("username", "pk"))
    missing = [name for name in names if name not in known]
    if missing:
        users.bulk_create(
            [get_user_model()(username=name, password=make_password(None)) for name in missing], ignore_conflicts=True
        )
        known |= dict(users.filter(username__in=missing).values_list("username", "pk"))
    return [known[name] for name in names]


def passes_for(*, item_id: int, buyer_ids: Sequence[int]) -> Iterator[str]:
    """A new pass for each buyer, good as long as one from the API."""
    expires_s = passes.expiry_s()
    for buyer_id in buyer_ids:
        yield passes.issue(item_id=item_id, buyer_id=buyer_id, expires_s=expires_s)
