"""What the shop wants of a payment provider. Each provider is one class; `provider_choice.py` names them.

A provider is an outside company: it may be slow, away, or say everything twice and in any order. So no transaction and
no lock is open while one is called, every call is idempotent by the payment's id, and money is believed to have come
when a signed event says so, never because the buyer came back from the payment page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from orders.models import Payment


class ProviderUnreachable(Exception):
    """The provider gave no answer, or none that says anything. Whether the call took effect is unknown: repeat it."""


class ProviderRefused(Exception):
    """The provider answered no: the session cannot be closed since it was paid, the refund is not possible, …"""


class Forged(Exception):
    """The message was not signed by the provider, or was changed on its way."""


class TooOld(Exception):
    """The message is genuine, but its time is too far from now: it may have been sent again by somebody else."""


class EventKind(StrEnum):
    """What a provider can say of a payment."""

    CAPTURED = "captured"
    DECLINED = "declined"
    EXPIRED = "expired"
    REFUNDED = "refunded"
    REFUND_FAILED = "refund_failed"


class Refund(StrEnum):
    """What a provider answers when it is asked to give money back. `under_way`: an event will tell how it ended."""

    DONE = "done"
    UNDER_WAY = "under_way"


@dataclass(frozen=True, slots=True)
class Session:
    """A payment page: what the provider calls it, and where the buyer finds it (a path of this shop, or an address)."""

    reference: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """A provider's message about a payment, verified. `amount_minor` and `currency` are what was really moved."""

    event_id: str
    kind: EventKind
    payment_id: UUID
    provider_reference: str
    reservation_id: UUID | None
    amount_minor: int
    currency: str
    happened_at: datetime


class Provider(Protocol):
    """All of them raise ProviderUnreachable. None may be called inside a transaction."""

    def open_session(self, *, payment: Payment) -> Session:
        """Make a page where the buyer pays. The same one for the same payment, however often it is asked for."""

    def close_session(self, *, payment: Payment) -> None:
        """See to it that the page takes no money any more. Raises ProviderRefused where it has taken it, or may yet."""

    def refund(self, *, payment: Payment) -> Refund:
        """Give all of the money back, once, however often it is asked for. Raises ProviderRefused."""

    def read_event(self, *, body: bytes, headers: Mapping[str, str]) -> Event | None:
        """What a webhook says; None where it is genuine and of no concern to us. Raises Forged and TooOld."""
