"""What the shop publishes of the draw of places, so that anybody can check one (docs/fairness.md)."""

import hashlib
from datetime import datetime
from typing import Any

from seckill.models import Sale


def published_room(sale: Sale, *, now: datetime) -> dict[str, Any] | None:
    """The hash of the key from the publication on, the key itself from the end of the sale on. None without a room."""
    if not sale.has_room:
        return None
    room = sale.waiting_room
    return {
        "key_sha256": hashlib.sha256(bytes.fromhex(room.key)).hexdigest(),
        # A web server whose clock is fast must not show it before the places are fixed.
        "key": room.key if room.early is not None and now >= sale.closes_at else None,
        "early": room.early,
    }
