"""The pass: a signed, short-lived permission for one buyer to reserve one sale item once.

It is checked without a database: it contains item, buyer, expiry and a random id, and an HMAC over them. The random id
is the reservation id, so repeating a call with the same pass is idempotent, and a stolen or replayed pass gives nothing
more.
"""

import hashlib
import hmac
import re
import secrets
import time
from binascii import b2a_base64
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from seckill.guards import pass_guards
from seckill.guards.buyer_networks import buyer_networks
from seckill.guards.pass_guards import GuardedCall, GuardRefused
from seckill.live.answer_counts import answer_counts
from seckill.models import Sale
from seckill.passes import unpaid_holds
from shop.configuration.quick_setting import setting
from shop.http.rate_limits import Limit, take_all
from shop.times.timestamps import now_ms

# The pass as text: version, item id, buyer id, expiry in seconds since 1970, reservation id, signature.
PATTERN = re.compile(
    r"(?P<body>p1\.(?P<item>[1-9][0-9]{0,14})\.(?P<buyer>[1-9][0-9]{0,18})\.(?P<expires>[1-9][0-9]{0,12})"
    r"\.(?P<id>[0-9a-f]{32}))\.(?P<signature>[A-Za-z0-9_-]{43})",
    re.ASCII,
)

PURPOSE = "seckill.passes"
# As `base64.urlsafe_b64encode`, of which each signature would take three functions of Python.
URL_SAFE = bytes.maketrans(b"+/", b"-_")
# Passes expire by the clocks of the web servers, and deadlines by the store's. Each may be an hour off.
CLOCKS_APART_SECONDS = 7200


class PassInvalid(Exception):
    """The text is not a pass of this shop: malformed, altered, or signed with another key."""


class PassExpired(Exception):
    """The pass has expired."""


class Pass(NamedTuple):
    """One buyer's permission to reserve one item."""

    item_id: int
    buyer_id: int
    reservation_id: UUID
    # The same as text: a yes needs it twice, and a UUID makes it anew each time.
    text: str = ""

    @property
    def reservation_text(self) -> str:
        return self.text or str(self.reservation_id)


def give(
    *, sale: Sale, item_id: int, buyer_id: int, network: str, guarded: GuardedCall | None = None
) -> tuple[str, int]:
    """A new pass for a buyer, and when it expires, in seconds since 1970.

    Raises LimitReached, of which HoldsUnpaid is one, and GuardRefused by the rules of a sale that has some: its calls
    are `guarded`.

    One account may ask only so often (PASS_LIMIT), since each pass is checked, signed and may become a reservation; and
    all accounts of one network for one item (PASS_LIMIT_BY_NETWORK), since accounts cost little. `network` is the
    client's (`client_network`).
    """
    unpaid_holds.check(item_id=item_id, buyer_id=buyer_id)
    take_all(
        Limit("pass", settings.PASS_LIMIT, str(buyer_id)),
        Limit("pass_by_network", settings.PASS_LIMIT_BY_NETWORK, f"{network}:{item_id}"),
    )
    if guarded is not None:
        try:
            pass_guards.check_pass(guarded)
        except GuardRefused as error:
            answer_counts.add(item_id, error.guard.value)
            raise
    buyer_networks.note(sale=sale, buyer_id=buyer_id, network=network)
    expires_s = expiry_s()
    return issue(item_id=item_id, buyer_id=buyer_id, expires_s=expires_s), expires_s


def issue(*, item_id: int, buyer_id: int, expires_s: int) -> str:
    """A new pass as text, with a new reservation id. `expires_s` is seconds since 1970."""
    body = f"p1.{item_id}.{buyer_id}.{expires_s}.{new_reservation_id(item_id).hex}"
    return f"{body}.{signature(body.encode(), keys()[0])}"


def expiry_s() -> int:
    """When a pass issued now expires, in seconds since 1970."""
    return int(time.time()) + settings.SECKILL_PASS_LIFE_SECONDS


def life_after_deadline_ms() -> int:
    """How long after the deadline of its hold a pass may still be used. It was issued before the hold was made."""
    return (settings.SECKILL_PASS_LIFE_SECONDS + CLOCKS_APART_SECONDS) * 1000


def is_useless(*, deadline_ms: int) -> bool:
    """Whether the pass of a hold with this deadline can no longer be used, so that an ended hold may be forgotten."""
    return deadline_ms + life_after_deadline_ms() < now_ms()


def read(text: str) -> Pass:
    """Parse and check the pass in `text`. Raises PassInvalid or PassExpired."""
    pass_, expires_s = checked(text, setting("SECRET_KEY"), *setting("SECRET_KEY_FALLBACKS"))
    if expires_s <= time.time():
        raise PassExpired
    return pass_


# A buyer who is refused asks again with the same pass, and checking it takes a sixth of a refusal. Seven megabytes.
@lru_cache(maxsize=10_000)
def checked(text: str, *secret_keys: str) -> tuple[Pass, int]:
    """The pass in `text`, and when it expires. Raises PassInvalid, which is not remembered."""
    match = PATTERN.fullmatch(text)
    if match is None:
        raise PassInvalid
    body, item, buyer, expires, number, signed = match.groups()
    message = body.encode()
    for key in keys_of_secrets(PURPOSE, *secret_keys):
        if hmac.compare_digest(signed, signature(message, key)):
            break
    else:
        raise PassInvalid
    # From the number, a UUID is made much faster than from the text.
    text = f"{number[:8]}-{number[8:12]}-{number[12:16]}-{number[16:20]}-{number[20:]}"
    return Pass(int(item), int(buyer), UUID(int=int(number, 16)), text), int(expires)


def new_reservation_id(item_id: int) -> UUID:
    """A random id that contains the item id: a version 8 UUID (RFC 9562) with 48 bits of item id and 74 random bits.

    So a reservation can be found in the store by its id alone, before its order exists.
    """
    number = (item_id & (2**48 - 1)) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 8 << 76
    return UUID(int=number & ~(0x3 << 62) | 0x2 << 62)


def item_id_of(reservation_id: UUID) -> int:
    """The sale item id in a reservation id."""
    return reservation_id.int >> 80


def keys() -> list["Key"]:
    """The current key, then the fallback keys."""
    return keys_of_secrets(PURPOSE, setting("SECRET_KEY"), *setting("SECRET_KEY_FALLBACKS"))


class Key(NamedTuple):
    """HMAC-SHA-256 (RFC 2104) with a key that both hashes have taken in: copying them costs a quarter of `hmac.new`."""

    inner: "hashlib._Hash"
    outer: "hashlib._Hash"


def signature(message: bytes, key: Key) -> str:
    inner, outer = key.inner.copy(), key.outer.copy()
    inner.update(message)
    outer.update(inner.digest())
    return b2a_base64(outer.digest(), newline=False).translate(URL_SAFE).decode().rstrip("=")


@lru_cache(maxsize=8)
def keys_of_secrets(purpose: str, *secret_keys: str) -> list[Key]:
    """A key of each secret for one purpose; signatures for another purpose do not fit."""
    return [key_of_secret(f"{purpose}:{secret}") for secret in secret_keys]


def key_of_secret(secret: str) -> Key:
    secret_bytes = secret.encode()
    block = hashlib.sha256().block_size
    if len(secret_bytes) > block:
        secret_bytes = hashlib.sha256(secret_bytes).digest()
    padded = secret_bytes.ljust(block, b"\0")
    return Key(
        hashlib.sha256(bytes(byte ^ 0x36 for byte in padded)), hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
    )
