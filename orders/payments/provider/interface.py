"""The interface of a payment provider. Each provider is one class; `provider_choice.py` lists them.

A provider is an outside company: it may be slow or unreachable, and may send its events twice and in any order. So no
transaction and no lock is open while one is called, and every call is idempotent by the payment's id. A payment counts
as captured when a signed event says so, never because the buyer returned from the payment page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from orders.models import Order, Payment, Refund

# When to try again if a provider did not answer.
RETRY_SECONDS = 5


class ProviderUnreachable(Exception):
    """The provider gave no usable answer. It is unknown whether the call took effect: repeat it."""


class ProviderRefused(Exception):
    """The provider refused, for example to close a session whose money is on its way, or to refund."""


class PagePaid(ProviderRefused):
    """The provider does not close the page, because it has the money. Its event may still be on its way."""


class Forged(Exception):
    """The message was not signed by the provider, or was altered on the way."""


class TooOld(Exception):
    """The signature is valid, but its time is too far from now: somebody may be replaying the message."""


class EventKind(StrEnum):
    """The kinds of events with which a provider reports on a payment.

    `refund_paid` and `refund_failed` are about one refund of ours. `refunded` says that all of a payment is refunded,
    `refunded_so_far` how much of it; these count the refunds made on the provider's own site too.
    """

    CAPTURED = "captured"
    DECLINED = "declined"
    EXPIRED = "expired"
    REFUNDED = "refunded"
    REFUND_PAID = "refund_paid"
    REFUND_FAILED = "refund_failed"
    REFUNDED_SO_FAR = "refunded_so_far"


class RefundAnswer(StrEnum):
    """A provider's answer to a refund request. `under_way`: an event will report how it ended."""

    DONE = "done"
    UNDER_WAY = "under_way"


@dataclass(frozen=True, slots=True)
class RefundReply:
    """The answer, and the provider's own reference of the refund. `amount_minor` is what it pays; None as asked."""

    answer: RefundAnswer
    reference: str
    amount_minor: int | None = None


class WayBack(StrEnum):
    """How a buyer came back from a payment page. It proves nothing; it only chooses the words of the order's page."""

    RETURNED = "returned"
    LEFT = "left"


def path_back(*, order: Order, way: WayBack) -> str:
    """Where a payment page leads: a buyer who has paid is `returned`, one who has not is `left`."""
    return f"{order.get_absolute_url()}?payment={way}"


@dataclass(frozen=True, slots=True)
class Session:
    """A payment page: the provider's reference, and its URL or a path in this shop."""

    reference: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """A provider's verified message about a payment. `amount_minor` and `currency` are the money that really moved.

    `order_number` and `reservation_id` are what the shop told the provider; an ordinary order has no reservation.
    `provider_reference` is that of the payment page, or of a failed refund that was made on the provider's site. Where
    the amount is the sum of all refunds, `part_minor` is the one that the event is about, if the provider says it.
    `card` is the same text for each payment with one card, and not its number; empty where the provider says nothing.
    """

    event_id: str
    kind: EventKind
    payment_id: UUID
    provider_reference: str
    reservation_id: UUID | None
    amount_minor: int
    currency: str
    happened_at: datetime
    refund_id: UUID | None = None
    order_number: UUID | None = None
    part_minor: int | None = None
    card: str = ""


class Provider(Protocol):
    """All methods raise ProviderUnreachable. Do not call them inside a transaction."""

    def check_keys(self) -> None:
        """A cheap call that changes nothing. Raises ProviderRefused if the shop's keys are wrong."""

    def open_session(self, *, payment: Payment) -> Session:
        """Create the page where the buyer pays. Repeated calls for a payment return the same page.

        After an error of the provider's own they may return another one than it had made and did not tell.
        """

    def close_session(self, *, payment: Payment) -> None:
        """Make sure that the page takes no payment any more.

        Raises PagePaid if it was paid, and ProviderRefused if it may yet be.
        """

    def refund(self, *, refund: Refund) -> RefundReply:
        """Refund `refund.amount_minor` of `refund.payment`. Repeated calls for a refund pay it once.

        Raises ProviderRefused, and then neither this call nor an earlier one has paid.
        """

    def read_event(self, *, body: bytes, headers: Mapping[str, str]) -> Event | None:
        """Parse and verify a webhook. None if it is genuine but not about a payment. Raises Forged and TooOld.

        The provider may be asked for more, if the message does not say whose payment it is about.
        """
