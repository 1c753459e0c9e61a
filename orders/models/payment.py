"""Payments of orders, and the inbox of the providers' webhooks."""

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, Upper
from django.utils.translation import gettext_lazy as _

from orders.models.order import Order


class Payment(models.Model):
    """One attempt to pay an order with a provider. Its id is sent to the provider and is part of every event.

    A payment is `pending` from before the provider is called until an event says how it ended. At most one payment of
    an order is pending or captured; the database enforces this, so an order is never captured twice. Refunds are rows
    of their own (`Refund`): a payment is `refund_due` while all of it is to go back, and `refunded` once it has.
    `request` is what the provider was asked for the page, if a repeated call must say the same. `found_paid_at` is set
    when the provider does not close the page because it was paid, although no event has said so.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        CAPTURED = "captured", _("captured")
        FAILED = "failed", _("failed")
        REFUND_DUE = "refund_due", _("refund on its way")
        REFUNDED = "refunded", _("refunded")

    id = models.UUIDField(_("payment"), primary_key=True, default=uuid.uuid4, editable=False)
    order = models.ForeignKey(Order, models.PROTECT, related_name="payments", verbose_name=_("order"))
    provider = models.CharField(_("provider"), max_length=20)
    provider_reference = models.CharField(_("reference at the provider"), max_length=255, blank=True)
    idempotency_key = models.CharField(_("idempotency key"), max_length=255)
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.PENDING)
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    url = models.TextField(_("payment page"), blank=True)
    request = models.JSONField(_("request for the payment page"), null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    captured_at = models.DateTimeField(_("captured at"), null=True, blank=True)
    closed_at = models.DateTimeField(_("payment page closed at"), null=True, blank=True)
    found_paid_at = models.DateTimeField(_("found paid at"), null=True, blank=True, editable=False)
    attempts = models.PositiveIntegerField(_("refund attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt at"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["order"], name="orders_payment_one_at_a_time", condition=Q(status__in=["pending", "captured"])
            ),
            models.UniqueConstraint(fields=["order", "idempotency_key"], name="orders_payment_idempotent"),
            models.UniqueConstraint(
                fields=["provider", "provider_reference"],
                name="orders_payment_reference_once",
                condition=~Q(provider_reference=""),
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_attempt_at"],
                name="orders_payment_to_decide",
                condition=Q(status="captured", next_attempt_at__isnull=False),
            ),
            models.Index(
                fields=["created_at"],
                name="orders_payment_to_close",
                condition=Q(status__in=["pending", "failed"], closed_at=None),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def page_open(self) -> bool:
        """Whether the buyer may pay, or may have paid, on the payment page: no event says how it ended."""
        return self.status == self.Status.PENDING and bool(self.url)

    @property
    def never_reported(self) -> bool:
        """Whether the provider had the money and never reported it, and the shop waits for that no longer."""
        return self.status == self.Status.FAILED and None not in (self.found_paid_at, self.closed_at)


class RecordedPayment(models.Model):
    """Money for an order that came without a provider, such as a bank transfer. It is the whole amount of the order."""

    order = models.OneToOneField(
        Order, models.CASCADE, primary_key=True, related_name="recorded_payment", verbose_name=_("order")
    )
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    reference = models.CharField(_("reference"), max_length=100)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", verbose_name=_("made by"), null=True
    )
    recorded_at = models.DateTimeField(_("recorded at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("payment that staff recorded")
        verbose_name_plural = _("payments that staff recorded")
        indexes = [GinIndex(OpClass(Upper("reference"), name="gin_trgm_ops"), name="orders_recorded_reference")]

    def __str__(self) -> str:
        return self.reference


class PaymentEvent(models.Model):
    """The inbox of webhooks: each event of a provider once. `applied_at` is null while it waits for its payment row, or
    a refund for its capture. An event whose row never comes is ended by staff.

    `order_number` and `reservation_id` are those that the provider was told with the payment, if any. `part_minor` is
    the refund that the event is about, where the amount is the sum of all refunds. `card_mark` tells cards apart, where
    the provider does, and is not the card.
    """

    provider = models.CharField(_("provider"), max_length=20)
    event_id = models.CharField(_("event"), max_length=255)
    kind = models.CharField(_("kind"), max_length=20)
    payment_id = models.UUIDField(_("payment"))
    provider_reference = models.CharField(_("reference at the provider"), max_length=255, blank=True)
    reservation_id = models.UUIDField(_("reservation"), null=True, blank=True)
    order_number = models.UUIDField(_("order"), null=True, blank=True)
    refund_id = models.UUIDField(_("refund"), null=True, blank=True)
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    part_minor = models.PositiveBigIntegerField(_("of it this refund, in minor units"), null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3)
    card_mark = models.CharField(_("mark of the card"), max_length=32, blank=True, default="", db_default="")
    happened_at = models.DateTimeField(_("happened at"))
    received_at = models.DateTimeField(_("received at"), db_default=Now(), editable=False)
    applied_at = models.DateTimeField(_("applied at"), null=True, blank=True)
    outcome = models.CharField(_("outcome"), max_length=100, blank=True)

    class Meta:
        verbose_name = _("payment event")
        verbose_name_plural = _("payment events")
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "event_id"], name="orders_paymentevent_once"),
        ]
        indexes = [
            models.Index(fields=["received_at"], name="orders_paymentevent_waiting", condition=Q(applied_at=None)),
            models.Index(fields=["payment_id"], name="orders_paymentevent_payment"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.event_id}"
