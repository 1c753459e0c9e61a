"""Mails to buyers."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from orders.models.order import Order
from orders.models.refund import Refund
from seckill.models import SaleItem


class Mail(models.Model):
    """A mail to a buyer: queued in the transaction that changes the order, sent by Celery.

    One per kind and order, and one for each refund.
    """

    class Kind(models.TextChoices):
        PLACED = "placed", _("order received")
        WON = "won", _("won in a draw")
        PAID = "paid", _("confirmation")
        SHIPPED = "shipped", _("shipped")
        TRACKING = "tracking", _("tracking number")
        EXPIRED = "expired", _("expiry")
        REFUNDED = "refunded", pgettext_lazy("mail", "refund")
        LINK = "link", _("link to a guest's order")
        FROM_LINE = "from_line", _("units from the waiting list")

    order = models.ForeignKey(Order, models.CASCADE, related_name="mails", verbose_name=_("order"))
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    refund = models.ForeignKey(
        Refund, models.CASCADE, related_name="mails", verbose_name=_("refund"), null=True, blank=True
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt at"), null=True, blank=True)
    last_error = models.CharField(_("last error"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("mail")
        verbose_name_plural = _("mails")
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["order", "kind", "refund"], name="orders_mail_once_per_refund", nulls_distinct=False
            )
        ]
        indexes = [
            models.Index(fields=["kind", "next_attempt_at"], name="orders_mail_unsent_kind", condition=Q(sent_at=None))
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.order}"


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
