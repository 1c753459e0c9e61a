"""The fate of a demo order: drawn so that each state occurs about as often as in a shop, and fits its age."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings

from orders.models import OrderStatus

# Shares of orders that end so, in hundredths.
EXPIRED, CANCELLED, REFUNDED = 6, 4, 3
# Some buyers pay by a transfer that takes days, so their orders still wait.
TRANSFER_TAKES = timedelta(days=3)
UNPAID_OF_RECENT = 0.15
SENT_AFTER, RECEIVED_AFTER = timedelta(hours=30), timedelta(days=8)
# Of the orders that were received long ago, the share that staff has not marked as completed.
NEVER_COMPLETED = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOrder:
    """When it was made, and what happened to it until now. `ended_at` is as in Order: paid, or ended without."""

    created_at: datetime
    expires_at: datetime
    status: OrderStatus
    paid_at: datetime | None = None
    ended_at: datetime | None = None
    shipped_at: datetime | None = None
    units_back: bool = True


def plan(created_at: datetime, *, now: datetime, draw: random.Random) -> PlannedOrder:
    """The life of an order that was made then."""
    hold = timedelta(seconds=settings.CHECKOUT_HOLD_SECONDS)
    expires_at, age, fate = created_at + hold, now - created_at, draw.randrange(100)
    planned = partial(PlannedOrder, created_at=created_at)
    if age < hold or (age < TRANSFER_TAKES and draw.random() < UNPAID_OF_RECENT):
        # Counted from now: otherwise the sweep would expire them within a second.
        return planned(expires_at=now + TRANSFER_TAKES, status=OrderStatus.AWAITING_PAYMENT)
    planned = partial(planned, expires_at=expires_at)
    if fate < EXPIRED:
        return planned(status=OrderStatus.EXPIRED, ended_at=expires_at)
    paid_at = created_at + hold * draw.uniform(0.02, 0.9)
    if fate < EXPIRED + CANCELLED:
        return planned(status=OrderStatus.CANCELLED, ended_at=paid_at)
    shipped_at = paid_at + SENT_AFTER * draw.uniform(0.1, 1) if age > SENT_AFTER else None
    planned = partial(planned, paid_at=paid_at)
    if fate < EXPIRED + CANCELLED + REFUNDED:
        ended_at = paid_at + (now - paid_at) * draw.uniform(0.01, 0.2)
        return planned(status=OrderStatus.REFUNDED, ended_at=ended_at, units_back=draw.random() < 0.5)
    return planned(status=status_at(age, draw), ended_at=paid_at, shipped_at=shipped_at)


def status_at(age: timedelta, draw: random.Random) -> OrderStatus:
    if age <= SENT_AFTER:
        return OrderStatus.PAID
    if age <= RECEIVED_AFTER or draw.random() < NEVER_COMPLETED:
        return OrderStatus.SHIPPED
    return OrderStatus.COMPLETED
