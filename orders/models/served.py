"""Delivery addresses and payment cards that have had their purchase of an item of a sale."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from orders.models.order import Order
from seckill.models import SaleItem


class Served(models.Model):
    """One address or card, and the order that it is for. It stands for as long as that order does.

    `mark` is a keyed hash: enough to compare, and neither the address nor the card.
    """

    class Kind(models.TextChoices):
        ADDRESS = "address", _("delivery address")
        CARD = "card", _("payment card")

    item = models.ForeignKey(SaleItem, models.PROTECT, related_name="+", verbose_name=_("sale item"), db_index=False)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    mark = models.CharField(_("mark"), max_length=32)
    order = models.ForeignKey(Order, models.CASCADE, related_name="served", verbose_name=_("order"))

    class Meta:
        verbose_name = _("address or card that was served")
        verbose_name_plural = _("addresses and cards that were served")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["item", "kind", "mark"], name="orders_served_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.mark}"
