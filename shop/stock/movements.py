"""The ordinary stock of the shop. Every change of a variant's units is made here, and is written to the journal.

All lines of an order move together or not at all. The variants' rows are locked in the order of their ids, so two
checkouts with the same products never wait for each other in a circle. Where an order is locked too, lock it first.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from shop.models import StockChange, Variant

Kind = StockChange.Kind

# PostgreSQL's integer, the type of the columns.
UNITS_MAX = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Effect:
    """The change of a variant's counters by one moved unit."""

    available: int
    held: int
    sold: int


EFFECTS = {
    Kind.CHANGED: Effect(available=1, held=0, sold=0),
    Kind.HELD: Effect(available=-1, held=1, sold=0),
    Kind.RELEASED: Effect(available=1, held=-1, sold=0),
    Kind.SOLD: Effect(available=0, held=-1, sold=1),
    Kind.SOLD_LATE: Effect(available=-1, held=0, sold=1),
    Kind.RETURNED: Effect(available=1, held=0, sold=-1),
    Kind.TO_SALE: Effect(available=-1, held=0, sold=0),
    Kind.FROM_SALE: Effect(available=1, held=0, sold=0),
}


class NotEnoughUnits(Exception):
    """Fewer units are available than were asked for. `available` says how many there are, by variant id."""

    def __init__(self, available: Mapping[int, int]) -> None:
        super().__init__(f"not enough units: {dict(available)}")
        self.available = dict(available)


def move(
    *,
    kind: StockChange.Kind,
    units_of: Mapping[int, int],
    reference: str = "",
    reason: str = "",
    made_by: User | None = None,
) -> None:
    """Move `units_of` (variant id → units) as `kind` says, all lines or none.

    Raises NotEnoughUnits with the lines that have too few, and changes nothing then. Call it in the transaction that
    also writes the reason of the move.
    """
    effect = EFFECTS[kind]
    with transaction.atomic():
        variants = lock(units_of)
        lacking = {
            variant.pk: variant.available
            for variant in variants
            if variant.available + effect.available * units_of[variant.pk] < 0
        }
        if lacking:
            raise NotEnoughUnits(lacking)
        journal = []
        for variant in variants:
            units = units_of[variant.pk]
            entry = StockChange(
                variant=variant,
                kind=kind,
                units=units,
                available_before=variant.available,
                held_before=variant.held,
                reason=reason,
                reference=reference,
                made_by=made_by,
            )
            variant.available += effect.available * units
            variant.held += effect.held * units
            variant.sold += effect.sold * units
            entry.available_after, entry.held_after = variant.available, variant.held
            journal.append(entry)
        Variant.objects.bulk_update(variants, ["available", "held", "sold"])
        StockChange.objects.bulk_create(journal)


def set_count(*, variant_id: int, count: int, reason: str, made_by: User | None) -> bool:
    """Staff have counted the units on the shelf, those of open checkouts included. False if fewer than are held."""
    with transaction.atomic():
        (variant,) = lock([variant_id])
        available = count - variant.held
        if available < 0:
            return False
        StockChange.objects.create(
            variant=variant,
            kind=Kind.COUNTED,
            units=available - variant.available,
            available_before=variant.available,
            available_after=available,
            held_before=variant.held,
            held_after=variant.held,
            reason=reason,
            made_by=made_by,
        )
        Variant.objects.filter(pk=variant_id).update(available=available)
    return True


def lock(variant_ids: "Mapping[int, int] | list[int]") -> list[Variant]:
    """The variants, locked in the order of their ids until the transaction ends. Raises Variant.DoesNotExist."""
    wanted = set(variant_ids)
    variants = list(Variant.objects.select_for_update(no_key=True).filter(pk__in=wanted).order_by("pk"))
    if len(variants) != len(wanted):
        raise Variant.DoesNotExist(f"no such variants: {sorted(wanted - {variant.pk for variant in variants})}")
    return variants
