"""The ordinary stock of the shop. Every change of a variant's units is made here, and is written to the journal.

All lines of an order move together or not at all. The variants' rows are locked in the order of their ids, so two
checkouts with the same products never wait for each other in a circle. Where other rows are locked too, they come
first: orders, items of a sale, entries of the search, variants.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import connection, transaction

from shop.models import StockChange, Variant

Kind = StockChange.Kind

# Staff may fill a stock up to so many units, with those that checkouts hold. The columns have room for 2**31 - 1: units
# that come back from checkouts, buyers and sales are never refused.
UNITS_MAX = 100_000_000

# Rows of one statement: longer ones take PostgreSQL more time to read than to run.
ROWS_MAX = 500

# Django's `bulk_update` takes four times as long, most of it to put the statement together.
WRITE_COUNTERS = """
UPDATE shop_variant SET available = new.available, held = new.held, sold = new.sold
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS new (id, available, held, sold)
WHERE shop_variant.id = new.id
"""


@dataclass(frozen=True, slots=True)
class Effect:
    """The change of a variant's counters by one moved unit."""

    available: int
    held: int
    sold: int


EFFECTS = {
    Kind.COUNTED: Effect(available=1, held=0, sold=0),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Units that move as `kind` says: `units_of` is by variant id."""

    kind: StockChange.Kind
    units_of: Mapping[int, int]
    reference: str = ""
    reason: str = ""
    made_by: User | None = None


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
    move_all([Move(kind=kind, units_of=units_of, reference=reference, reason=reason, made_by=made_by)])


def move_all(moves: Sequence[Move]) -> None:
    """As `move`, for several at once, one after the other: all of them or none.

    Each variant is locked and written once, however many of the moves it is in, so that the rows are locked for a short
    time only.
    """
    with transaction.atomic():
        variants = {variant.pk: variant for variant in lock({pk for each in moves for pk in each.units_of})}
        journal = [entry for each in moves for entry in make(each, variants)]
        write(variants.values())
        StockChange.objects.bulk_create(journal, batch_size=ROWS_MAX)


def make(wanted: Move, variants: Mapping[int, Variant]) -> list[StockChange]:
    """Change the locked `variants`, and return the entries of the journal. Raises NotEnoughUnits."""
    effect = EFFECTS[wanted.kind]
    lacking = {
        pk: variants[pk].available
        for pk, units in wanted.units_of.items()
        if variants[pk].available + effect.available * units < 0
    }
    if lacking:
        raise NotEnoughUnits(lacking)
    journal = []
    for pk in sorted(wanted.units_of):
        variant, units = variants[pk], wanted.units_of[pk]
        entry = StockChange(
            variant=variant,
            kind=wanted.kind,
            units=units,
            available_before=variant.available,
            held_before=variant.held,
            reason=wanted.reason,
            reference=wanted.reference,
            made_by=wanted.made_by,
        )
        variant.available += effect.available * units
        variant.held += effect.held * units
        variant.sold += effect.sold * units
        entry.available_after, entry.held_after = variant.available, variant.held
        journal.append(entry)
    return journal


def write(variants: Collection[Variant]) -> None:
    """Write the counters of locked variants."""
    columns = [[getattr(each, name) for each in variants] for name in ("pk", "available", "held", "sold")]
    with connection.cursor() as cursor:
        cursor.execute(WRITE_COUNTERS, columns)


def lock(variant_ids: Collection[int]) -> list[Variant]:
    """The variants, locked in the order of their ids until the transaction ends. Raises Variant.DoesNotExist."""
    wanted = set(variant_ids)
    variants = list(Variant.objects.select_for_update(no_key=True).filter(pk__in=wanted).order_by("pk"))
    if len(variants) != len(wanted):
        raise Variant.DoesNotExist(f"no such variants: {sorted(wanted - {variant.pk for variant in variants})}")
    return variants
