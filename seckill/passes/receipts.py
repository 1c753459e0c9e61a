"""The receipt: a signed yes, which brings a reservation back if the reservation store has lost it.

Each yes carries one (`seckill/api/views.py`), and it says all that the store knows of the reservation: the id, which
contains the item, the buyer, the units, their price, and the deadline. So a yes survives the store with its buyer.
It is good for nothing else: `orders/life/readmission.py` gives units for it once, and only while there are some.
"""

import hmac
import re
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from seckill.ledger import Reservation
from seckill.passes.passes import Key, Pass, item_id_of, keys_of_secrets, signature
from shop.configuration.quick_setting import setting

PURPOSE = "seckill.receipts"
# The receipt as text: version, key id, reservation id, buyer id, units, price of one in minor units, currency, deadline
# in milliseconds since 1970, signature. A client takes it for a text of up to LENGTH_MAX characters.
PATTERN = re.compile(
    r"(?P<body>r1\.(?P<key>[A-Za-z0-9_-]{8})\.(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"\.(?P<buyer>[1-9][0-9]{0,18})\.(?P<units>[1-9][0-9]{0,8})\.(?P<price>[0-9]{1,18})\.(?P<currency>[A-Z]{3})"
    r"\.(?P<deadline>[1-9][0-9]{0,14}))\.(?P<signature>[A-Za-z0-9_-]{43})",
    re.ASCII,
)
LENGTH_MAX = 300


class ReceiptInvalid(Exception):
    """The text is not a receipt of this shop: malformed, altered, or signed with a key that is no longer known."""


class Receipt(NamedTuple):
    """The yes that a buyer was told. `price_minor` is that of one unit."""

    reservation_id: UUID
    buyer_id: int
    units: int
    price_minor: int
    currency: str
    deadline_ms: int

    @property
    def item_id(self) -> int:
        return item_id_of(self.reservation_id)


class NamedKey(NamedTuple):
    """A key with its name in the receipts: a key that was replaced is found without trying all of them."""

    id: str
    key: Key


def issue(*, pass_: Pass, reservation_id: str, reservation: Reservation) -> str:
    """The receipt of a yes, the same each time. `reservation_id` is that of the pass as text, which callers have."""
    name, key = named_keys(setting("SECRET_KEY"))[0]
    body = (
        f"r1.{name}.{reservation_id}.{pass_.buyer_id}.{reservation.units}.{reservation.price_minor}"
        f".{reservation.currency}.{reservation.deadline_ms}"
    )
    return f"{body}.{signature(body.encode(), key)}"


def read(text: str) -> Receipt:
    """Parse and check the receipt in `text`. Raises ReceiptInvalid."""
    match = PATTERN.fullmatch(text)
    if match is None:
        raise ReceiptInvalid
    body, name, reservation_id, buyer, units, price, currency, deadline, signed = match.groups()
    for key in named_keys(setting("SECRET_KEY"), *setting("SECRET_KEY_FALLBACKS")):
        if key.id == name and hmac.compare_digest(signed, signature(body.encode(), key.key)):
            return Receipt(UUID(reservation_id), int(buyer), int(units), int(price), currency, int(deadline))
    raise ReceiptInvalid


@lru_cache(maxsize=4)
def named_keys(*secret_keys: str) -> list[NamedKey]:
    return [NamedKey(signature(b"key id", key)[:8], key) for key in keys_of_secrets(PURPOSE, *secret_keys)]
