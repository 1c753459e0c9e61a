import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from seckill.models import SaleItem
from shop.models import Product


class OrderStatus(models.TextChoices):
    """The status of an order; the API uses the same words.

    awaiting_payment → paid | expired | cancelled; paid → shipped → completed. Refunds: paid → refund_due → refunded, or
    refunded at once where staff recorded the payment. A payment that arrives after the end: expired → paid if units
    were left; otherwise expired | cancelled | rejected → refund_due → refunded. Intake inserts surplus as rejected.
    """

    AWAITING_PAYMENT = "awaiting_payment", _("awaiting payment")
    PAID = "paid", _("paid")
    SHIPPED = "shipped", _("shipped")
    COMPLETED = "completed", _("completed")
    EXPIRED = "expired", _("expired")
    CANCELLED = "cancelled", _("cancelled")
    REJECTED = "rejected", _("rejected")
    REFUND_DUE = "refund_due", _("refund due")
    REFUNDED = "refunded", _("refunded")


# Paid orders that keep their units.
SOLD = (OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.COMPLETED)

# Orders that count in SaleItem.taken. Refunded orders count too where `units_back` is False.
LIVE = (OrderStatus.AWAITING_PAYMENT, *SOLD)


class Attention(models.TextChoices):
    """Something unusual that staff can read about an order. ATTENTION_TO_DO has those that a person must act on."""

    LATE_PAYMENT_KEPT = "late_payment_kept", _("paid late, units were left")
    LATE_PAYMENT_REFUNDED = "late_payment_refunded", _("paid late, refunded")
    AMOUNT_DIFFERS = "amount_differs", _("wrong amount paid")
    PAID_TWICE = "paid_twice", _("paid twice, second payment refunded")
    REFUND_FAILS = "refund_fails", _("refund keeps failing")


# The others only tell what happened: the shop has done all there is to do.
ATTENTION_TO_DO = (Attention.AMOUNT_DIFFERS, Attention.REFUND_FAILS)


class Order(models.Model):
    """A purchase. From here on PostgreSQL is the truth.

    `reservation_id` is the hold in the reservation store that this order came from; `expires_at` is the deadline to
    pay. Columns that intake does not name also have defaults in the database, so that a worker of the previous release
    can still insert orders while a new release is rolled out.

    `settled_at` is null until the store has been told how the order ended (sold or released); the sweep in
    `orders/settlement.py` retries after a crash. `units_back` False means that a refunded order keeps its units: they
    still count in `taken` and stay sold.
    """

    number = models.UUIDField(_("number"), default=uuid.uuid4, unique=True, editable=False)
    reservation_id = models.UUIDField(_("reservation"), unique=True, null=True, blank=True, editable=False)
    buyer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="orders", verbose_name=_("buyer"))
    status = models.CharField(_("status"), max_length=20, choices=OrderStatus, default=OrderStatus.AWAITING_PAYMENT)
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    reserved_at = models.DateTimeField(_("reserved at"))
    expires_at = models.DateTimeField(_("to be paid by"))
    ended_at = models.DateTimeField(_("paid or ended at"), null=True, blank=True)
    settled_at = models.DateTimeField(_("stock updated at"), null=True, blank=True)
    units_back = models.BooleanField(_("units back on sale"), default=True, db_default=True)
    attention = models.CharField(
        _("needs attention"), max_length=30, choices=Attention, blank=True, default="", db_default=""
    )

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="orders_order_status_known", condition=Q(status__in=OrderStatus.values)),
            models.CheckConstraint(
                name="orders_order_ended_has_time",
                condition=Q(status=OrderStatus.AWAITING_PAYMENT, ended_at=None)
                | (~Q(status=OrderStatus.AWAITING_PAYMENT) & Q(ended_at__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="orders_order_newest"),
            models.Index(fields=["buyer", "-created_at", "-id"], name="orders_order_of_buyer"),
            models.Index(
                fields=["expires_at"],
                name="orders_order_to_expire",
                condition=Q(status=OrderStatus.AWAITING_PAYMENT),
            ),
            models.Index(
                fields=["ended_at"],
                name="orders_order_unsettled",
                condition=Q(settled_at=None) & ~Q(status=OrderStatus.AWAITING_PAYMENT),
            ),
            models.Index(fields=["-id"], name="orders_order_attention", condition=~Q(attention="")),
        ]

    def __str__(self) -> str:
        return str(self.number)

    def get_absolute_url(self) -> str:
        return reverse("order", args=[self.number])

    @property
    def paid_late(self) -> bool:
        """Whether a payment arrived after the deadline. Still true after staff have marked the order as resolved."""
        if self.attention in (Attention.LATE_PAYMENT_KEPT, Attention.LATE_PAYMENT_REFUNDED):
            return True
        return any(
            payment.captured_at is not None and payment.captured_at > self.expires_at
            for payment in self.payments.all()
            if payment.status != Payment.Status.FAILED
        )

    @property
    def late_payment_undecided(self) -> bool:
        """Whether a late payment was captured and the shop has not decided yet whether units are left for it."""
        return self.status == OrderStatus.EXPIRED and any(
            payment.status == Payment.Status.CAPTURED for payment in self.payments.all()
        )

    @property
    def payment_unknown(self) -> bool:
        """Whether the order ended while the buyer's payment page was open, and the page is not known to be closed."""
        ended = self.status in (OrderStatus.EXPIRED, OrderStatus.CANCELLED)
        return ended and any(payment.page_open for payment in self.payments.all())


class Payment(models.Model):
    """One attempt to pay an order with a provider. Its id is sent to the provider and is part of every event.

    A payment is `pending` from before the provider is called until an event says how it ended. At most one payment of
    an order is pending or captured; the database enforces this, so an order is never captured twice. A payment to be
    refunded is `refund_due` until the provider has confirmed the refund. `request` is what the provider was asked for
    the page, if a repeated call must say the same.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        CAPTURED = "captured", _("captured")
        FAILED = "failed", _("failed")
        REFUND_DUE = "refund_due", _("refund due")
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
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    captured_at = models.DateTimeField(_("captured at"), null=True, blank=True)
    closed_at = models.DateTimeField(_("payment page closed at"), null=True, blank=True)
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
            models.Index(fields=["next_attempt_at"], name="orders_payment_to_refund", condition=Q(status="refund_due")),
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


class PaymentEvent(models.Model):
    """The inbox of webhooks: each event of a provider once. `applied_at` is null while it waits for its payment row."""

    provider = models.CharField(_("provider"), max_length=20)
    event_id = models.CharField(_("event"), max_length=255)
    kind = models.CharField(_("kind"), max_length=20)
    payment_id = models.UUIDField(_("payment"))
    provider_reference = models.CharField(_("reference at the provider"), max_length=255, blank=True)
    reservation_id = models.UUIDField(_("reservation"), null=True, blank=True)
    amount_minor = models.PositiveBigIntegerField(_("amount in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    happened_at = models.DateTimeField(_("happened at"))
    received_at = models.DateTimeField(_("received at"), auto_now_add=True)
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


class Mail(models.Model):
    """A mail to a buyer: queued in the transaction that changes the order, sent by Celery; one per kind and order."""

    class Kind(models.TextChoices):
        PAID = "paid", _("confirmation")
        EXPIRED = "expired", _("expiry")
        REFUNDED = "refunded", _("refund")

    order = models.ForeignKey(Order, models.CASCADE, related_name="mails", verbose_name=_("order"))
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt at"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("mail")
        verbose_name_plural = _("mails")
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["order", "kind"], name="orders_mail_once")]
        indexes = [
            models.Index(fields=["kind", "next_attempt_at"], name="orders_mail_unsent_kind", condition=Q(sent_at=None))
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.order}"


class OrderLine(models.Model):
    """What was bought: `units` of `product` at `unit_price_minor` each. Lines from a flash sale have a `sale_item`."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines", verbose_name=_("order"))
    product = models.ForeignKey(Product, models.PROTECT, related_name="order_lines", verbose_name=_("product"))
    sale_item = models.ForeignKey(
        SaleItem,
        models.PROTECT,
        related_name="order_lines",
        verbose_name=_("sale item"),
        null=True,
        blank=True,
        # The index with the order begins with it.
        db_index=False,
    )
    units = models.PositiveIntegerField(_("units"))
    unit_price_minor = models.PositiveBigIntegerField(_("unit price in minor units"))

    class Meta:
        verbose_name = _("order line")
        verbose_name_plural = _("order lines")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(name="orders_orderline_units_positive", condition=Q(units__gt=0)),
            models.UniqueConstraint(fields=["order", "product"], name="orders_orderline_product_once"),
        ]
        indexes = [models.Index(fields=["sale_item", "order"], name="orders_orderline_of_item")]

    def __str__(self) -> str:
        return f"{self.units} × {self.product}"

    @property
    def amount_minor(self) -> int:
        return self.units * self.unit_price_minor
