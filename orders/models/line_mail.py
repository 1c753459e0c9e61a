"""Mails to those who got no units."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from seckill.models import SaleItem


class LineMail(models.Model):
    """Tells a buyer that nothing came back until the end, or that their entry in a draw has not won. One for each item.

    There is no order that it could belong to. The row stays, so that nobody is told twice.
    """

    item = models.ForeignKey(SaleItem, models.CASCADE, related_name="line_mails", verbose_name=_("sale item"))
    buyer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="line_mails", verbose_name=_("buyer")
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt at"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("mail to a waiting list")
        verbose_name_plural = _("mails to waiting lists")
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["item", "buyer"], name="orders_linemail_once")]
        indexes = [models.Index(fields=["next_attempt_at"], name="orders_linemail_unsent", condition=Q(sent_at=None))]

    def __str__(self) -> str:
        return f"{self.buyer} · {self.item}"
