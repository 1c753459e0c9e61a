"""Staff refund parts of ordinary orders, and a worker dies after the payment company has paid a part back."""

from collections.abc import Iterable, Sequence
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import QuerySet, Sum

from bench.faults.buyer_journey import Demand
from bench.faults.fault import TrialContext
from bench.faults.kinds.processes import DiesAtFailpoint
from bench.faults.shopping.goods import Shelf
from orders.life import lifecycle
from orders.life.lifecycle import RefundOutcome
from orders.models import Order, OrderStatus, Refund, RefundLine
from orders.payments.simulated.models import SimulatedRefund
from orders.refund_records import RefundRequest
from shop.models import StockChange

REASON = "fault harness"
# Until some buyers have paid and the sweep has asked for their refunds, on a busy machine.
PAID_SECONDS_MAX = 45.0


class KilledInPartRefund(DiesAtFailpoint):
    """One unit of each paid order comes back, and its price goes back. Each form is sent twice."""

    name = "killed-in-part-refund"
    description = "a worker dies after the payment company paid back a part of an order, before it is in PostgreSQL"
    failpoint = "refund.after_provider"
    starts_after_seconds = (0.0, 0.2)
    demand = Demand(buyers=0, shoppers=50, retry_seconds_max=10.0)
    shelf = Shelf(products=4, units=40)

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._answers: list[tuple[RefundOutcome, RefundOutcome]] = []

    def inject(self) -> None:
        visit = self.rng.randint(1, self.visits_max)
        with self.shop.failpoint(self.failpoint, visit=visit) as died:
            self.happened = self.shop.wait_until(lambda: self._refund_all() and died(), seconds_max=PAID_SECONDS_MAX)
        self.variant = f"at visit {visit}, {len(self._answers)} refunds"

    def undo(self) -> None:
        """Those who pay later get a refund too."""
        self.shop.wait(self.demand.arrival_seconds)
        self._refund_all()
        self.variant = f"{self.variant.rpartition(',')[0]}, {len(self._answers)} refunds"

    def violations(self) -> Sequence[str]:
        connection.close()
        refunds = Refund.objects.filter(order__in=self._orders())
        by_shop = minor_by_refund(refunds.filter(status=Refund.Status.REFUNDED).values_list("pk", "amount_minor"))
        by_company = minor_by_refund(
            SimulatedRefund.objects.filter(session__payment_id__in=refunds.values("payment_id")).values_list(
                "refund_id", "amount_minor"
            )
        )
        codes = self._orders().values("code")
        entries = StockChange.objects.filter(kind=StockChange.Kind.RETURNED, reference__in=codes)
        units = entries.aggregate(units=Sum("units", default=0))["units"]
        asked = RefundLine.objects.filter(refund__in=refunds).aggregate(units=Sum("units", default=0))["units"]
        repeated = sum(again is not RefundOutcome.REPEATED for _, again in self._answers)
        counts = {
            "refunds are not the same at the company and in the shop": len(by_shop ^ by_company),
            "units of difference between the refunds and what came back into the stock": abs(units - asked),
            "forms that were sent again were not known": repeated,
            "refunds are missing or too many": abs(len(by_shop) - len(self._answers)),
        }
        return [f"{count} {what}" for what, count in counts.items() if count]

    def took_effect(self) -> bool:
        return super().took_effect() and bool(self._answers)

    def _orders(self) -> QuerySet[Order]:
        return Order.objects.filter(lines__variant__in=self.context.goods.variant_ids.values()).distinct()

    def _refund_all(self) -> bool:
        """Refund a unit of each paid order that has had none back, as the admin does."""
        connection.close()
        for order in self._orders().filter(status=OrderStatus.PAID, refunds=None, payments__status="captured"):
            line = order.lines.order_by("pk")[0]
            wish = RefundRequest(
                refund_id=uuid4(),
                amount_minor=line.unit_price_minor,
                units_of_line={line.pk: 1},
                units_back=True,
                reason=REASON,
            )
            first = lifecycle.refund_amount(order_id=order.pk, request=wish)
            self._answers.append((first, lifecycle.refund_amount(order_id=order.pk, request=wish)))
        return True


def minor_by_refund(rows: Iterable[tuple[UUID, int]]) -> set[tuple[str, int]]:
    return {(str(refund_id), minor) for refund_id, minor in rows}
