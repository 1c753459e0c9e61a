"""Alerts by mail or to a chat: which are on, and the messages that say so."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class AlertKind(models.TextChoices):
    SOLD_OUT = "sold_out", _("sold out")
    LAG = "lag", _("orders are late")
    DIFFERENCE = "difference", _("difference found")
    REFUND_FAILED = "refund_failed", _("refund failed")
    NOT_READY = "not_ready", _("sale not ready")


class Alert(models.Model):
    """An alert that is on. Its row is deleted when it is over, so each change of its state is made by one process."""

    kind = models.CharField(max_length=20, choices=AlertKind)
    # The item, the order or the sale.
    subject = models.CharField(max_length=100)
    title = models.CharField(max_length=500)
    began_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["kind", "subject"], name="orders_alert_once")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.title}"


class AlertMessage(models.Model):
    """One message of one channel, written in the transaction that changes the alerts it is about.

    As with mails, `next_attempt_at` null means that it was sent or given up.
    """

    class Channel(models.TextChoices):
        MAIL = "mail", _("mail")
        WEBHOOK = "webhook", _("webhook")

    channel = models.CharField(max_length=10, choices=Channel)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    # The kind of the error alone: a text could name the secret address.
    last_error = models.CharField(max_length=100, blank=True)

    class Meta:
        verbose_name = _("message of an alert")
        verbose_name_plural = _("messages of alerts")
        default_permissions = ()
        indexes = [
            models.Index(fields=["channel", "next_attempt_at"], name="orders_alert_unsent", condition=Q(sent_at=None))
        ]

    def __str__(self) -> str:
        return self.text
