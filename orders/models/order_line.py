"""What was ordered, as it was then."""

from django.db import models
from django.db.models import Q, Value
from django.utils.translation import gettext_lazy as _

from orders.models.order import Order
from seckill.models import SaleItem
from shop.languages.kept_texts import in_readers_language
from shop.models import Product, Variant


class OrderLine(models.Model):
    """`units` of `variant`, bought at `unit_price_minor` each. Lines from a flash sale have a `sale_item`.

    `sku` and `texts` are those of the variant when the line was made: PostgreSQL copies them if the statement does not
    name them (orders_keep_texts in the migrations), so that renaming a product changes no order. `texts` has `name`,
    `options` and `option_names`, each by language.

    `tax_percent` is the tax that the price included when it was bought; null where the product has no tax rate.
    """

    # The index of the constraint with the variant begins with the order.
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines", verbose_name=_("order"), db_index=False)
    variant = models.ForeignKey(Variant, models.PROTECT, related_name="order_lines", verbose_name=_("product"))
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
    sku = models.CharField(_("SKU"), max_length=64, blank=True, default="", db_default="")
    texts = models.JSONField(
        _("texts of the product"), default=dict, db_default=Value({}, models.JSONField()), editable=False
    )
    units = models.PositiveIntegerField(_("units"))
    unit_price_minor = models.PositiveBigIntegerField(_("unit price in minor units"))
    tax_percent = models.DecimalField(_("tax in percent"), max_digits=5, decimal_places=2, null=True, blank=True)

    class Meta:
        verbose_name = _("order line")
        verbose_name_plural = _("order lines")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(name="orders_orderline_units_positive", condition=Q(units__gt=0)),
            models.UniqueConstraint(fields=["order", "variant"], name="orders_orderline_variant_once"),
        ]
        indexes = [models.Index(fields=["sale_item", "order"], name="orders_orderline_of_item")]

    def __str__(self) -> str:
        return f"{self.units} × {self.title}"

    @property
    def title(self) -> str:
        """Name and options, as they were when this was ordered."""
        return f"{self.name} · {self.options}" if self.options else self.name

    @property
    def name(self) -> str:
        return self.kept_text("name") if self.texts else str(self.product)

    @property
    def options(self) -> str:
        return self.kept_text("options") if self.texts else self.variant.options

    @property
    def option_names(self) -> str:
        return self.kept_text("option_names") if self.texts else self.product.option_names

    def kept_text(self, name: str) -> str:
        """A line that was just made has none in memory, since PostgreSQL copies them."""
        return in_readers_language(self.texts[name])

    @property
    def product(self) -> Product:
        return self.variant.product

    @property
    def amount_minor(self) -> int:
        return self.units * self.unit_price_minor

    @property
    def refunded_units(self) -> int:
        """The units that refunds were about. `with_lines` reads them together with the lines."""
        read: int | None = vars(self).get("units_in_refunds")
        if read is not None:
            return read
        return sum(
            self.refund_lines.exclude(refund__status="failed", is_returned=False).values_list("units", flat=True)
        )

    @property
    def units_left(self) -> int:
        """The units that the buyer gets, or has and keeps."""
        return self.units - self.refunded_units
