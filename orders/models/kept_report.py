"""What the report of a sale cannot find out later."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from seckill.models import Sale


class KeptReport(models.Model):
    """Sums that the shop forgets: answers are in the cache for weeks, and people may delete their accounts.

    `orders/report/kept_sums.py` writes them a day after the last hold of the sale, whose end was `closes_at` then: a
    sale that was opened again gets new ones. `sums` has no more about people than how many there were.
    """

    sale = models.OneToOneField(
        Sale, models.CASCADE, primary_key=True, related_name="kept_report", verbose_name=_("sale")
    )
    closes_at = models.DateTimeField(_("closes at"))
    made_at = models.DateTimeField(_("made at"))
    sums = models.JSONField(_("sums"))

    class Meta:
        verbose_name = _("kept report of a sale")
        verbose_name_plural = _("kept reports of sales")

    def __str__(self) -> str:
        return str(self.sale)
