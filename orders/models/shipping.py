"""Shipping methods and their prices."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from modeltranslation.manager import MultilingualManager

from shop.models import TaxRate


class ShippingMethod(models.Model):
    """A way of sending, with its prices by weight or by total. `countries` are codes of ISO 3166; empty means all."""

    class Basis(models.TextChoices):
        WEIGHT = "weight", _("weight in grams")
        TOTAL = "total", _("total of the goods")

    code = models.SlugField(_("code"), max_length=50, unique=True)
    name = models.CharField(_("name"), max_length=100)
    countries = ArrayField(
        models.CharField(max_length=2),
        verbose_name=_("countries"),
        default=list,
        blank=True,
        help_text=_("Codes such as CN or DE. Empty means all countries."),
    )
    basis = models.CharField(_("price by"), max_length=10, choices=Basis, default=Basis.WEIGHT)
    free_from_minor = models.PositiveBigIntegerField(
        _("free from"), null=True, blank=True, help_text=_("Goods of this total or more are sent free of charge.")
    )
    tax_rate = models.ForeignKey(
        TaxRate, models.PROTECT, related_name="+", verbose_name=_("tax rate"), null=True, blank=True
    )
    position = models.PositiveIntegerField(_("position"), default=0)
    is_active = models.BooleanField(_("offered"), default=True)

    objects = MultilingualManager["ShippingMethod"]()

    class Meta:
        verbose_name = _("shipping method")
        verbose_name_plural = _("shipping methods")
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.name or self.code


class ShippingPrice(models.Model):
    """The price up to a weight in grams or a total in minor units. Without `up_to` it has no upper bound."""

    method = models.ForeignKey(ShippingMethod, models.CASCADE, related_name="prices", verbose_name=_("shipping method"))
    up_to = models.PositiveBigIntegerField(
        _("up to"), null=True, blank=True, validators=[MinValueValidator(1)], help_text=_("Empty means no limit.")
    )
    price_minor = models.PositiveBigIntegerField(_("price in minor units"))

    class Meta:
        verbose_name = _("shipping price")
        verbose_name_plural = _("shipping prices")
        ordering = ["method", models.F("up_to").asc(nulls_last=True)]
        constraints = [
            models.UniqueConstraint(fields=["method", "up_to"], name="orders_shippingprice_once", nulls_distinct=False),
            models.CheckConstraint(
                name="orders_shippingprice_up_to_positive", condition=Q(up_to=None) | Q(up_to__gt=0)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.method}: {self.up_to or '∞'}"
