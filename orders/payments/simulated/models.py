"""The tables of the simulated payment company: its payment pages, and the webhooks that it has to deliver.

It plays an outside company, so these tables refer to the shop's payments by id, without a foreign key.
"""

from django.db import models
from django.db.models import Q


class SimulatedSession(models.Model):
    """A payment page. While it is `processing`, it cannot be closed; the money arrives at `captures_at`."""

    class Status(models.TextChoices):
        OPEN = "open"
        PROCESSING = "processing"
        CAPTURED = "captured"
        DECLINED = "declined"
        EXPIRED = "expired"
        REFUNDED = "refunded"

    class Delivery(models.TextChoices):
        """How the webhooks about this page are delivered."""

        ONCE = "once"
        TWICE = "twice"
        LATE = "late"
        EARLY = "early"
        OUT_OF_ORDER = "out_of_order"

    reference = models.CharField(max_length=64, unique=True)
    payment_id = models.UUIDField(unique=True)
    reservation_id = models.UUIDField(null=True)
    order_number = models.UUIDField(null=True)
    amount_minor = models.PositiveBigIntegerField()
    currency = models.CharField(max_length=3)
    return_url = models.CharField(max_length=500)
    # The address for buyers who have not paid. Pages of an older release have only the other address.
    cancel_url = models.CharField(max_length=500, blank=True, default="", db_default="")
    status = models.CharField(max_length=20, choices=Status, default=Status.OPEN)
    delivery = models.CharField(max_length=20, choices=Delivery, default=Delivery.ONCE)
    # What the company says of the card: a word for each, and not its number.
    card = models.CharField(max_length=40, blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)
    captures_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["captures_at"], name="orders_simulated_to_capture", condition=Q(status="processing")),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def way_back(self) -> str:
        """The address that the page leads to now. A payment that may still come does not count as “left”."""
        paid = self.status in (self.Status.PROCESSING, self.Status.CAPTURED, self.Status.REFUNDED)
        return self.return_url if paid else self.cancel_url or self.return_url


class SimulatedRefund(models.Model):
    """Money of a page that was paid back. `refund_id` is the shop's: the same id is paid back once."""

    session = models.ForeignKey(SimulatedSession, models.CASCADE, related_name="refunds")
    refund_id = models.UUIDField(unique=True)
    amount_minor = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.refund_id)


class SimulatedMessage(models.Model):
    """A webhook to be delivered. Two rows with the same `event_id` are one message that is sent twice."""

    session = models.ForeignKey(SimulatedSession, models.CASCADE, related_name="messages")
    event_id = models.CharField(max_length=64)
    body = models.TextField()
    deliver_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["deliver_at"], name="orders_simulated_to_deliver", condition=Q(delivered_at=None)),
        ]

    def __str__(self) -> str:
        return self.event_id
