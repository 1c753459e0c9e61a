"""Receipts of lost reservations that could not be brought back, for a person to look at."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from seckill.models import SaleItem


class RefusedReceipt(models.Model):
    """A yes that the shop has lost and cannot keep (orders/life/readmission.py). One for each reservation.

    Its signature was right, so the buyer was told what stands here. `done_at` is when staff had dealt with it: it is
    not listed any more, and stays, so that the same receipt does not come back to the list.
    """

    class Reason(models.TextChoices):
        UNITS_GONE = "units_gone", _("its units were sold to others meanwhile")
        SALE_OVER = "sale_over", _("the sale is long over")
        PRICE_DIFFERS = "price_differs", _("the price of the item is not that of the receipt")

    reservation_id = models.UUIDField(_("reservation"), primary_key=True)
    item = models.ForeignKey(SaleItem, models.CASCADE, related_name="+", verbose_name=_("sale item"))
    buyer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="refused_receipts", verbose_name=_("buyer")
    )
    units = models.PositiveIntegerField(_("units"))
    price_minor = models.PositiveBigIntegerField(_("price in minor units"))
    currency = models.CharField(_("currency"), max_length=3)
    deadline = models.DateTimeField(_("to be paid by"))
    reason = models.CharField(_("reason"), max_length=20, choices=Reason)
    refused_at = models.DateTimeField(_("refused at"), auto_now_add=True)
    done_at = models.DateTimeField(_("dealt with at"), null=True)

    class Meta:
        verbose_name = _("receipt of a lost reservation")
        verbose_name_plural = _("receipts of lost reservations")
        ordering = ["refused_at", "pk"]
        # The permissions of orders hold for these too.
        default_permissions = ()
        indexes = [
            models.Index(fields=["refused_at"], name="orders_refused_open", condition=models.Q(done_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.item} · {self.reservation_id}"
