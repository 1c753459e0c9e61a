"""The place token: a signed note of who arrived as which in the waiting room of a sale.

The place follows from it and from the room's figures, so a web process tells it without asking the store. If the store
loses the arrivals, their holders bring them back with it.
"""

import hmac
import re
from typing import NamedTuple

from seckill.passes.passes import keys, signature

# Version, sale id, account id, arrival number, signature.
PATTERN = re.compile(
    r"(?P<body>q1\.(?P<sale>[1-9][0-9]{0,14})\.(?P<account>[1-9][0-9]{0,18})\.(?P<arrival>0|[1-9][0-9]{0,9}))"
    r"\.(?P<signature>[A-Za-z0-9_-]{43})",
    re.ASCII,
)
# Of the longest token. Longer texts need not be looked at.
LENGTH_MAX = len("q1") + 15 + 19 + 10 + 43 + len("....")


class PlaceToken(NamedTuple):
    """One account's arrival in a waiting room."""

    sale_id: int
    account_id: int
    arrival: int


def issue(*, sale_id: int, account_id: int, arrival: int) -> str:
    """The token as text. Its beginning differs from that of a pass, so that neither is taken for the other."""
    body = f"q1.{sale_id}.{account_id}.{arrival}"
    return f"{body}.{signature(body.encode(), keys()[0])}"


def read(text: str) -> PlaceToken | None:
    """The token in `text`; None if this shop did not sign it."""
    match = PATTERN.fullmatch(text)
    if match is None:
        return None
    body, sale, account, arrival, signed = match.groups()
    if not any(hmac.compare_digest(signed, signature(body.encode(), key)) for key in keys()):
        return None
    return PlaceToken(int(sale), int(account), int(arrival))
