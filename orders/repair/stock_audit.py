"""The audit of the ordinary stock: counters, journal, orders and sales must say the same of each variant.

One statement reads all of it, so it sees one moment, also while people buy.
"""

from dataclasses import dataclass

from django.db import connection

from orders.models import REFUNDS, SOLD, Order, OrderLine, OrderStatus, RefundLine
from seckill.models import SaleItem
from shop.models import StockChange, Variant

Kind = StockChange.Kind

# A sweep returns the units of archived sales that were refunded; it takes some ten seconds.
RETURNED_WITHIN = "1 minute"

# Units of a paid order stay sold until they come back with a refund. A refunded order without refund lines was never
# sold, for example because it was paid too late, or was refunded as a whole before refunds had lines.
FIGURES = f"""
WITH refunded AS (
    SELECT line_id, coalesce(sum(units) FILTER (WHERE is_returned), 0) AS returned
    FROM {RefundLine._meta.db_table} GROUP BY line_id
), ordered AS (
    SELECT line.variant_id,
           coalesce(sum(line.units) FILTER (WHERE purchase.status = %(awaiting)s), 0) AS held,
           coalesce(sum(line.units - coalesce(refunded.returned, 0)) FILTER (
               WHERE purchase.status = ANY(%(sold)s)
                  OR purchase.status = ANY(%(refunds)s) AND (NOT purchase.units_back OR refunded.line_id IS NOT NULL)
           ), 0) AS sold
    FROM {OrderLine._meta.db_table} AS line
    JOIN {Order._meta.db_table} AS purchase ON purchase.id = line.order_id
    LEFT JOIN refunded ON refunded.line_id = line.id
    WHERE line.sale_item_id IS NULL
    GROUP BY line.variant_id
), in_sales AS (
    SELECT variant_id, sum(quantity) AS units FROM {SaleItem._meta.db_table} WHERE from_stock GROUP BY variant_id
), left_behind AS (
    SELECT item.variant_id, sum(item.quantity - item.taken) AS units
    FROM {SaleItem._meta.db_table} AS item
    WHERE item.from_stock AND item.archived_at < now() - %(returned_within)s::interval AND item.quantity > item.taken
      AND NOT EXISTS (
          SELECT FROM {OrderLine._meta.db_table} AS line
          JOIN {Order._meta.db_table} AS purchase ON purchase.id = line.order_id
          WHERE line.sale_item_id = item.id AND purchase.ended_at >= now() - %(returned_within)s::interval
      )
    GROUP BY item.variant_id
), journal AS (
    SELECT variant_id,
           coalesce(sum(units) FILTER (WHERE kind = %(to_sale)s), 0)
               - coalesce(sum(units) FILTER (WHERE kind = %(from_sale)s), 0) AS in_sales,
           max(id) AS last_id
    FROM {StockChange._meta.db_table} GROUP BY variant_id
)
SELECT variant.sku, variant.available, variant.held, variant.sold,
       coalesce(ordered.held, 0), coalesce(ordered.sold, 0), coalesce(in_sales.units, 0), coalesce(journal.in_sales, 0),
       coalesce(latest.available_after, 0), coalesce(latest.held_after, 0), coalesce(left_behind.units, 0)
FROM {Variant._meta.db_table} AS variant
LEFT JOIN ordered ON ordered.variant_id = variant.id
LEFT JOIN in_sales ON in_sales.variant_id = variant.id
LEFT JOIN left_behind ON left_behind.variant_id = variant.id
LEFT JOIN journal ON journal.variant_id = variant.id
LEFT JOIN {StockChange._meta.db_table} AS latest ON latest.id = journal.last_id
ORDER BY variant.sku
"""


@dataclass(frozen=True, slots=True)
class StockDifference:
    """One figure of a variant that two places say differently. `what` names the figure and the places."""

    sku: str
    what: str
    counter: int
    other: int

    def __str__(self) -> str:
        return f"{self.sku}: {self.what}: {self.counter} and {self.other}"


@dataclass(frozen=True, slots=True)
class StockAudit:
    """How many variants were compared, and the differences."""

    variants: int
    differences: list[StockDifference]


def audit_stock() -> StockAudit:
    """Compare the counters of all variants with the journal, the orders and the sales. Raises database errors."""
    with connection.cursor() as cursor:
        cursor.execute(
            FIGURES,
            {
                "awaiting": OrderStatus.AWAITING_PAYMENT.value,
                "sold": [status.value for status in SOLD],
                "refunds": [status.value for status in REFUNDS],
                "to_sale": Kind.TO_SALE.value,
                "from_sale": Kind.FROM_SALE.value,
                "returned_within": RETURNED_WITHIN,
            },
        )
        rows = cursor.fetchall()
    differences = [difference for row in rows for difference in differences_in(*row)]
    return StockAudit(variants=len(rows), differences=differences)


def differences_in(
    sku: str,
    available: int,
    held: int,
    sold: int,
    ordered_held: int,
    ordered_sold: int,
    in_sales: int,
    journal_in_sales: int,
    journal_available: int,
    journal_held: int,
    left_behind: int,
) -> list[StockDifference]:
    pairs = {
        "available, by counter and journal": (available, journal_available),
        "held, by counter and journal": (held, journal_held),
        "held, by counter and orders": (held, ordered_held),
        "sold, by counter and orders": (sold, ordered_sold),
        "given to sales, by sales and journal": (in_sales, journal_in_sales),
        "left behind in archived sales": (left_behind, 0),
    }
    return [
        StockDifference(sku, what, int(counter), int(other))
        for what, (counter, other) in pairs.items()
        if counter != other
    ]
