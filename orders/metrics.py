"""What Prometheus reads at /metrics: figures that must be 0, or small, for the promises to hold.

The processes of a shop come and go, so nothing is counted in them: each figure is read from PostgreSQL, from an index
that holds only what is outstanding, or from the last audit, which a worker keeps in the cache.
"""

from collections.abc import Iterator

from django.core.cache import cache
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from orders.models import Mail, Order, OrderStatus, Payment, PaymentEvent
from seckill.models import SaleChange

AUDIT_KEY = "orders.repair.audit"
# An audit runs every minute; its figures outlive a worker's restart, and their age is a figure of its own.
AUDIT_LIFE_SECONDS = 24 * 3600


def remember_audit(*, trouble_of_item: dict[int, int]) -> None:
    """Keep the result of an audit of all items for the next scrape."""
    cache.set(AUDIT_KEY, {"at_s": timezone.now().timestamp(), "trouble": trouble_of_item}, AUDIT_LIFE_SECONDS)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Outstanding())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class Outstanding(Collector):
    """The figures, read anew at each scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from audit_gauges()
        now = timezone.now()
        unsettled = Order.objects.filter(settled_at=None).exclude(status=OrderStatus.AWAITING_PAYMENT)
        overdue = Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, expires_at__lt=now)
        counts = {
            "stampede_orders_overdue": ("Unpaid orders past their deadline", overdue),
            "stampede_orders_unsettled": ("Orders whose end the store has not been told", unsettled),
            "stampede_orders_needing_attention": (
                "Orders that a person should look at",
                Order.objects.filter(~Q(attention="")),
            ),
            "stampede_payment_events_waiting": (
                "Webhooks that wait for their order",
                PaymentEvent.objects.filter(applied_at=None),
            ),
            "stampede_refunds_due": (
                "Payments that must go back",
                Payment.objects.filter(status=Payment.Status.REFUND_DUE),
            ),
            "stampede_mails_unsent": ("Mails owed to buyers", Mail.objects.filter(sent_at=None)),
            "stampede_changes_pending": (
                "Changes of running sales that the store has not applied",
                SaleChange.objects.filter(status=SaleChange.Status.PENDING),
            ),
        }
        for name, (help_text, rows) in counts.items():
            yield GaugeMetricFamily(name, help_text, value=rows.count())


def audit_gauges() -> Iterator[Metric]:
    """`stampede_audit_differences` must be 0; no audit for minutes is an alarm of its own."""
    differences = GaugeMetricFamily(
        "stampede_audit_differences",
        "Reservations and sums on which the two stores disagree; must be 0",
        labels=["item"],
    )
    last = cache.get(AUDIT_KEY)
    if last:
        for item_id, trouble in last["trouble"].items():
            differences.add_metric([str(item_id)], trouble)
        age_seconds = timezone.now().timestamp() - last["at_s"]
        yield GaugeMetricFamily("stampede_audit_age_seconds", "Seconds since the last audit", value=age_seconds)
    yield differences
