"""What PostgreSQL says: rows of work that waits, each counted by an index of the outstanding rows alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from prometheus_client.core import GaugeMetricFamily, Metric

from orders.models import ATTENTION_TO_DO, Mail, Order, OrderStatus, PaymentEvent, Refund
from seckill.models import SaleChange


@dataclass(frozen=True, kw_only=True)
class RowCount:
    """A metric that counts rows. The query runs at each scrape."""

    name: str
    help_text: str
    rows: QuerySet[Any]


AWAITING_PAYMENT = Q(status=OrderStatus.AWAITING_PAYMENT)
# The sweep expires orders each second. Where holds end all the time, some have just ended at each scrape.
OVERDUE_AFTER = timedelta(seconds=30)

ROW_COUNTS = [
    RowCount(
        name="stampede_orders_overdue",
        help_text="Unpaid orders that were to expire 30 s ago or earlier",
        rows=Order.objects.filter(AWAITING_PAYMENT, expires_at__lt=Now() - OVERDUE_AFTER),
    ),
    RowCount(
        name="stampede_orders_unsettled",
        help_text="Ended orders that are not settled in the reservation store",
        rows=Order.objects.filter(~AWAITING_PAYMENT, settled_at=None),
    ),
    RowCount(
        name="stampede_orders_needing_attention",
        help_text="Orders that a person must act on",
        rows=Order.objects.filter(~Q(attention=""), attention__in=ATTENTION_TO_DO),
    ),
    RowCount(
        name="stampede_payment_events_waiting",
        help_text="Webhooks that wait for their payment",
        rows=PaymentEvent.objects.filter(applied_at=None),
    ),
    RowCount(
        name="stampede_refunds_due",
        help_text="Refunds that the provider has not confirmed",
        rows=Refund.objects.filter(status=Refund.Status.DUE),
    ),
    RowCount(
        name="stampede_mails_unsent",
        help_text="Mails that are still to be sent",
        rows=Mail.objects.filter(sent_at=None, next_attempt_at__isnull=False),
    ),
    RowCount(
        name="stampede_changes_pending",
        help_text="Changes of running sales that the store has not applied",
        rows=SaleChange.objects.filter(status=SaleChange.Status.PENDING),
    ),
]


def row_metrics() -> Iterator[Metric]:
    for metric in ROW_COUNTS:
        yield GaugeMetricFamily(metric.name, metric.help_text, value=metric.rows.count())
