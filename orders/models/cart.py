"""Carts. A cart holds no units of the stock."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from shop.models import Variant


class Cart(models.Model):
    """The cart of a buyer, or of a guest, who is known by `token` alone. A buyer has one cart."""

    token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    buyer = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="cart", null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    changed_at = models.DateTimeField(_("changed at"), auto_now=True, db_index=True)

    class Meta:
        verbose_name = _("cart")
        verbose_name_plural = _("carts")

    def __str__(self) -> str:
        return str(self.buyer or self.token)


class CartLine(models.Model):
    """`seen_price_minor` is the unit price that the buyer was last shown, so that the cart can say that it changed."""

    cart = models.ForeignKey(Cart, models.CASCADE, related_name="lines", verbose_name=_("cart"), db_index=False)
    variant = models.ForeignKey(Variant, models.CASCADE, related_name="+", verbose_name=_("product"))
    units = models.PositiveIntegerField(_("units"))
    seen_price_minor = models.PositiveBigIntegerField(_("price shown, in minor units"))

    class Meta:
        verbose_name = _("line of a cart")
        verbose_name_plural = _("lines of carts")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["cart", "variant"], name="orders_cartline_once"),
            models.CheckConstraint(name="orders_cartline_units_positive", condition=Q(units__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.units} × {self.variant}"
