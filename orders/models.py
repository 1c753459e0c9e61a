import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from seckill.models import SaleItem
from shop.models import Product


class OrderStatus(models.TextChoices):
    """Where an order stands; the words are those of the API."""

    AWAITING_PAYMENT = "awaiting_payment", _("awaiting payment")
    PAID = "paid", _("paid")
    EXPIRED = "expired", _("expired")
    CANCELLED = "cancelled", _("cancelled")
    REJECTED = "rejected", _("rejected")
    REFUNDED = "refunded", _("refunded")


# Orders that count in SaleItem.taken.
LIVE = (OrderStatus.AWAITING_PAYMENT, OrderStatus.PAID)


class Order(models.Model):
    """A purchase. From here on PostgreSQL is the truth.

    `reservation_id` is the hold in the reservation store that this order came from; `expires_at` the deadline to pay.
    `settled_at` is null while the store has not yet been told how the order ended (paid, or given back); the sweep
    in `orders/lifecycle.py` repeats what a crash left unsaid.
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
    settled_at = models.DateTimeField(_("settled with the store at"), null=True, blank=True)

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
        ]

    def __str__(self) -> str:
        return str(self.number)

    def get_absolute_url(self) -> str:
        return reverse("order", args=[self.number])


class OrderLine(models.Model):
    """What was bought: `units` of `product` at `unit_price_minor` each. A line of a flash sale names its sale item."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="lines", verbose_name=_("order"))
    product = models.ForeignKey(Product, models.PROTECT, related_name="order_lines", verbose_name=_("product"))
    sale_item = models.ForeignKey(
        SaleItem,
        models.PROTECT,
        related_name="order_lines",
        verbose_name=_("sale item"),
        null=True,
        blank=True,
    )
    units = models.PositiveIntegerField(_("units"))
    unit_price_minor = models.PositiveBigIntegerField(_("price of one, in minor units"))

    class Meta:
        verbose_name = _("order line")
        verbose_name_plural = _("order lines")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(name="orders_orderline_units_positive", condition=Q(units__gt=0)),
            models.UniqueConstraint(fields=["order", "product"], name="orders_orderline_product_once"),
        ]

    def __str__(self) -> str:
        return f"{self.units} × {self.product}"

    @property
    def amount_minor(self) -> int:
        return self.units * self.unit_price_minor
