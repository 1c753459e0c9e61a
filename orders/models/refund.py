"""Refunds: money of an order that goes back, and payments that an order did not take."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Prefetch, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from orders.models.order import Order
from orders.models.order_line import OrderLine
from orders.models.payment import Payment

# The lines of refunds whose units cannot be refunded again.
USED_UP = ~Q(refund__status="failed") | Q(is_returned=True)

# Refunds that staff still have to pay, because no provider captured the money.
BY_HAND = Q(status="due", payment=None)

# Refunds that are done and have no credit note, or whose credit note is wrong because the refund failed after all.
LACKS_NOTE = Q(is_surplus=False) & (
    Q(status="refunded", is_credited=False) | (~Q(status="refunded") & Q(is_credited=True))
)


class Refund(models.Model):
    """One refund. The caller chooses its id, which the provider gets too: a repeated call is the same refund.

    It is `due` until the provider has confirmed it, and `failed` once the provider has refused it for good: its amount
    may then be refunded again. Without a `payment` staff return the money themselves, and say when they have.
    `is_surplus` is money that the order did not take: paid too late, twice, or of a wrong amount. It does not count in
    `Order.refunded_minor`, and is asked for until it is paid.
    """

    class Status(models.TextChoices):
        DUE = "due", _("refund on its way")
        REFUNDED = "refunded", _("refunded")
        FAILED = "failed", _("refund failed")

    id = models.UUIDField(_("refund"), primary_key=True, default=uuid.uuid4, editable=False)
    order = models.ForeignKey(Order, models.PROTECT, related_name="refunds", verbose_name=_("order"))
    payment = models.ForeignKey(
        Payment, models.PROTECT, related_name="refunds", verbose_name=_("payment"), null=True, blank=True
    )
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.DUE)
    is_surplus = models.BooleanField(_("money that the order did not take"), default=False, db_default=False)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", verbose_name=_("made by"), null=True, blank=True
    )
    provider_reference = models.CharField(_("reference at the provider"), max_length=255, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt at"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)
    failing_since = models.DateTimeField(null=True, editable=False)
    is_credited = models.BooleanField(_("has a credit note"), default=False, db_default=False, editable=False)

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                name="orders_refund_status_known", condition=Q(status__in=["due", "refunded", "failed"])
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], name="orders_refund_due", condition=Q(status="due")),
            models.Index(fields=["order"], name="orders_refund_by_hand", condition=BY_HAND),
            models.Index(fields=["created_at"], name="orders_refund_to_credit", condition=LACKS_NOTE),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def currency(self) -> str:
        """A wrong payment may be in another currency than the order."""
        return self.payment.currency if self.payment else self.order.currency


class RefundLine(models.Model):
    """Units that a refund is about. `is_returned` says that they went back into the ordinary stock."""

    refund = models.ForeignKey(Refund, models.CASCADE, related_name="lines", verbose_name=_("refund"), db_index=False)
    line = models.ForeignKey(OrderLine, models.PROTECT, related_name="refund_lines", verbose_name=_("order line"))
    units = models.PositiveIntegerField(_("units"))
    is_returned = models.BooleanField(_("back in stock"), default=False)

    class Meta:
        verbose_name = _("line of a refund")
        verbose_name_plural = _("lines of refunds")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["refund", "line"], name="orders_refundline_once"),
            models.CheckConstraint(name="orders_refundline_units_positive", condition=Q(units__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.units} × {self.line.title}"


def with_lines(path: str = "") -> "Prefetch[str]":
    """For `prefetch_related` of orders: their lines with the products, in one query. `path` leads to the order."""
    return Prefetch(f"{path}lines", with_refunded_units(OrderLine.objects.select_related("variant__product")))


def with_refunded_units(lines: "QuerySet[OrderLine]") -> "QuerySet[OrderLine]":
    used = RefundLine.objects.filter(USED_UP, line=OuterRef("pk")).order_by().values("line")
    return lines.annotate(units_in_refunds=Coalesce(Subquery(used.annotate(found=Sum("units")).values("found")), 0))
