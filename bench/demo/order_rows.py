"""All rows of a demo order: the order with lines and address, its payment with events, its refund and its mails.

The status is written as it is now. A real order gets there by `orders/life/lifecycle.py`, one step after the other.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models

from bench.demo.demo_people import DemoPerson
from bench.demo.past_stock import REASON, PastMovement
from bench.demo.planned_order import PlannedOrder
from orders.models import (
    SOLD,
    Mail,
    Order,
    OrderLine,
    OrderStatus,
    Payment,
    PaymentEvent,
    Refund,
    RefundLine,
    ShippingAddress,
)
from orders.payments.inbox import EventOutcome
from orders.payments.provider.interface import EventKind
from orders.payments.provider.names import ProviderName
from orders.payments.simulated.models import SimulatedSession
from shop.models import StockChange

Kind = StockChange.Kind

CARRIERS = (("SF Express", "SF1"), ("YTO Express", "YT2"), ("DHL", "00340"), ("UPS", "1Z9"))
NOTES = ("请在工作日送货", "Please ring twice.", "礼物，请不要放发票", "Leave it with the neighbours.")
DELIVERY_NAME, DELIVERY_MINOR = "Standard", 800
FREE_FROM_MINOR = 30_000
MAIL_TAKES = timedelta(seconds=4)
# The tables, in the order in which rows can be inserted.
TABLES: tuple[type[models.Model], ...] = (
    Order,
    OrderLine,
    ShippingAddress,
    Payment,
    SimulatedSession,
    PaymentEvent,
    Refund,
    RefundLine,
    Mail,
)


# A row of some table, by the names of its columns.
Row = dict[str, Any]


class Ware(NamedTuple):
    """The facts about a variant that an order needs."""

    variant_id: int
    price_minor: int
    tax_percent: Decimal | None


@dataclass(slots=True)
class OrderRows:
    """Rows of many orders by their tables, and the units that moved."""

    tables: dict[type[models.Model], list[Row]] = field(default_factory=lambda: {model: [] for model in TABLES})
    movements: list[PastMovement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Identity:
    """The keys that PostgreSQL has drawn for an order and its lines."""

    order_id: int
    code: str
    number: UUID
    line_ids: Sequence[int]


def add_order(
    rows: OrderRows,
    planned: PlannedOrder,
    person: DemoPerson,
    identity: Identity,
    basket: Sequence[tuple[Ware, int]],
    draw: random.Random,
) -> None:
    """Add the rows of one order of these variants and units."""
    goods_minor = sum(ware.price_minor * units for ware, units in basket)
    order = order_of(planned, person, identity, goods_minor, draw)
    lines = [
        {
            "id": line_id,
            "order_id": identity.order_id,
            "variant_id": ware.variant_id,
            "units": units,
            "unit_price_minor": ware.price_minor,
            "tax_percent": ware.tax_percent,
        }
        for line_id, (ware, units) in zip(identity.line_ids, basket, strict=True)
    ]
    rows.tables[Order].append(order)
    rows.tables[OrderLine] += lines
    rows.tables[ShippingAddress].append({"order_id": identity.order_id, **person.address})
    if planned.paid_at is not None:
        add_payment(rows, order, lines, paid_at=planned.paid_at)
    for kind, made_at in moves_of(planned):
        rows.movements += [PastMovement(made_at, identity.code, kind, ware.variant_id, units) for ware, units in basket]
    rows.tables[Mail] += [
        {
            "order_id": identity.order_id,
            "kind": kind.value,
            "created_at": made_at,
            "sent_at": made_at + MAIL_TAKES,
            "attempts": 1,
        }
        for kind, made_at in mails_of(planned)
    ]


def order_of(
    planned: PlannedOrder, person: DemoPerson, identity: Identity, goods_minor: int, draw: random.Random
) -> Row:
    shipping_minor = 0 if goods_minor >= FREE_FROM_MINOR else DELIVERY_MINOR
    amount_minor = goods_minor + shipping_minor
    order: Row = {
        "id": identity.order_id,
        "number": identity.number,
        "code": identity.code,
        "buyer_id": person.pk,
        "email": "" if person.pk else person.email,
        "language": person.language,
        "status": planned.status.value,
        "amount_minor": amount_minor,
        "currency": settings.CURRENCY,
        "shipping_name": DELIVERY_NAME,
        "shipping_minor": shipping_minor,
        "refunded_minor": amount_minor if planned.status is OrderStatus.REFUNDED else 0,
        "created_at": planned.created_at,
        "reserved_at": planned.created_at,
        "expires_at": planned.expires_at,
        "ended_at": planned.ended_at,
        # There is nothing to settle with the reservation store.
        "settled_at": planned.ended_at,
        "units_back": planned.units_back,
        "buyer_note": draw.choice(NOTES) if draw.random() < 0.03 else "",
    }
    if planned.shipped_at is not None:
        carrier, start = draw.choice(CARRIERS)
        tracking_number = f"{start}{draw.randrange(10**10):010}"
        order |= {"carrier": carrier, "tracking_number": tracking_number, "shipped_at": planned.shipped_at}
    return order


def add_payment(rows: OrderRows, order: Row, lines: Sequence[Row], *, paid_at: datetime) -> None:
    """A payment through the simulated company, which knows it too: so staff can refund it."""
    is_refunded = order["refunded_minor"] > 0
    status, page_status = (
        (Payment.Status.REFUNDED, SimulatedSession.Status.REFUNDED)
        if is_refunded
        else (Payment.Status.CAPTURED, SimulatedSession.Status.CAPTURED)
    )
    money = {"amount_minor": order["amount_minor"], "currency": order["currency"]}
    payment = {
        "id": uuid4(),
        "order_id": order["id"],
        "provider": ProviderName.SIMULATED.value,
        "provider_reference": f"sim_demo_{order['id']}",
        "idempotency_key": f"demo-{order['id']}",
        "status": status.value,
        "created_at": order["created_at"],
        "captured_at": paid_at,
        "closed_at": paid_at,
        **money,
    }
    rows.tables[Payment].append(payment)
    rows.tables[SimulatedSession].append(
        {
            "reference": payment["provider_reference"],
            "payment_id": payment["id"],
            "return_url": "/",
            "status": page_status.value,
            "delivery": SimulatedSession.Delivery.ONCE.value,
            "created_at": order["created_at"],
            **money,
        }
    )
    happened = [(EventKind.CAPTURED, EventOutcome.PAID, paid_at)]
    if is_refunded:
        happened.append((EventKind.REFUNDED, EventOutcome.REFUNDED, order["ended_at"]))
        add_refund(rows, order, payment, lines)
    rows.tables[PaymentEvent] += [
        {
            "provider": payment["provider"],
            "event_id": f"demo_{kind.value}_{order['id']}",
            "kind": kind.value,
            "payment_id": payment["id"],
            "provider_reference": payment["provider_reference"],
            "happened_at": at,
            "received_at": at,
            "applied_at": at,
            "outcome": outcome.value,
            **money,
        }
        for kind, outcome, at in happened
    ]


def add_refund(rows: OrderRows, order: Row, payment: Row, lines: Sequence[Row]) -> None:
    """All of the order's money, and its units back in stock if the order says so."""
    refund_id = uuid4()
    rows.tables[Refund].append(
        {
            "id": refund_id,
            "order_id": order["id"],
            "payment_id": payment["id"],
            "amount_minor": order["amount_minor"],
            "status": Refund.Status.REFUNDED.value,
            "reason": REASON,
            "created_at": order["ended_at"],
            "ended_at": order["ended_at"],
        }
    )
    rows.tables[RefundLine] += [
        {"refund_id": refund_id, "line_id": line["id"], "units": line["units"], "is_returned": order["units_back"]}
        for line in lines
    ]


def moves_of(planned: PlannedOrder) -> list[tuple[StockChange.Kind, datetime]]:
    """The movements of the units, and their times."""
    moves = [(Kind.HELD, planned.created_at)]
    if planned.paid_at is not None:
        moves.append((Kind.SOLD, planned.paid_at))
        if planned.status is OrderStatus.REFUNDED and planned.units_back and planned.ended_at:
            moves.append((Kind.RETURNED, planned.ended_at))
    elif planned.ended_at is not None:
        moves.append((Kind.RELEASED, planned.ended_at))
    return moves


def mails_of(planned: PlannedOrder) -> list[tuple[Mail.Kind, datetime]]:
    mails = []
    if planned.paid_at is not None:
        mails.append((Mail.Kind.PAID, planned.paid_at))
    if planned.shipped_at is not None and planned.status in SOLD:
        mails.append((Mail.Kind.SHIPPED, planned.shipped_at))
    if planned.ended_at is not None and planned.status is OrderStatus.EXPIRED:
        mails.append((Mail.Kind.EXPIRED, planned.ended_at))
    if planned.ended_at is not None and planned.status is OrderStatus.REFUNDED:
        mails.append((Mail.Kind.REFUNDED, planned.ended_at))
    return mails
