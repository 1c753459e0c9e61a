"""Times in which the reservation store was compared with the orders."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from seckill.models import SaleItem


class StoreRepair(models.Model):
    """While an item was compared, its buyers were told `unavailable` (orders/repair/reconcile.py).

    `ended_at` is null while that goes on, and after a process died until the next one has finished. `differed`
    says that the store had lost something, which the orders gave back.
    """

    item = models.ForeignKey(SaleItem, models.CASCADE, related_name="store_repairs", verbose_name=_("sale item"))
    began_at = models.DateTimeField(_("began at"))
    ended_at = models.DateTimeField(_("ended at"), null=True)
    differed = models.BooleanField(_("differed"), default=False)

    class Meta:
        verbose_name = _("comparison of the reservation store")
        verbose_name_plural = _("comparisons of the reservation store")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.item} · {self.began_at}"
