"""Movements of the stock in months that are over, for demo data: counters and journal as if each had been made then.

What `shop/stock/movements.py` does for each order when it happens is done here for thousands at once, by its rules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from bench.demo.copied_rows import copy_rows
from shop.models import StockChange, Variant
from shop.stock.movements import EFFECTS

Kind = StockChange.Kind

# A delivery that comes when a variant has too few units for an order.
DELIVERED_UNITS = 25
REASON = "demo data"
WRITE_COUNTERS = f"""
UPDATE {Variant._meta.db_table} AS variant SET available = now.available, held = now.held, sold = now.sold
FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::bigint[]) AS now (id, available, held, sold)
WHERE variant.id = now.id
"""


@dataclass(frozen=True, slots=True)
class PastMovement:
    """At that time so many units of the variant were moved for an order, whose number is the reference."""

    made_at: datetime
    reference: str
    kind: StockChange.Kind
    variant_id: int
    units: int


@dataclass(slots=True)
class Counters:
    """Those of a variant."""

    available: int
    held: int
    sold: int


def record_past(movements: Sequence[PastMovement]) -> None:
    """Write the movements into counters and journal in the order of their times, with deliveries where units lack.

    Call it in the transaction that also writes the orders.
    """
    journal: list[dict[str, Any]] = []
    with transaction.atomic():
        counters = locked_counters({movement.variant_id for movement in movements})
        for movement in sorted(movements, key=lambda movement: movement.made_at):
            of_variant = counters[movement.variant_id]
            if movement.kind is Kind.HELD and of_variant.available < movement.units:
                delivery = PastMovement(movement.made_at, "", Kind.CHANGED, movement.variant_id, DELIVERED_UNITS)
                journal.append(moved(of_variant, delivery) | {"reason": REASON})
            journal.append(moved(of_variant, movement))
        copy_rows(StockChange, journal)
        rows = [(pk, now.available, now.held, now.sold) for pk, now in counters.items()]
        with connection.cursor() as cursor:
            cursor.execute(WRITE_COUNTERS, [list(column) for column in zip(*rows, strict=True)] or [[]] * 4)


def locked_counters(variant_ids: Iterable[int]) -> dict[int, Counters]:
    """By variant id. The rows are locked in the order in which everything locks them."""
    variants = Variant.objects.select_for_update(no_key=True).filter(pk__in=variant_ids).order_by("pk")
    return {pk: Counters(*figures) for pk, *figures in variants.values_list("pk", "available", "held", "sold")}


def moved(counters: Counters, movement: PastMovement) -> dict[str, Any]:
    """Move the units. Returns the entry of the journal."""
    effect, before = EFFECTS[movement.kind], replace(counters)
    counters.available += effect.available * movement.units
    counters.held += effect.held * movement.units
    counters.sold += effect.sold * movement.units
    return {
        "variant_id": movement.variant_id,
        "kind": movement.kind.value,
        "units": movement.units,
        "available_before": before.available,
        "available_after": counters.available,
        "held_before": before.held,
        "held_after": counters.held,
        "reference": movement.reference,
        "made_at": movement.made_at,
    }
