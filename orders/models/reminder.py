"""Who wants a mail when a sale opens, or when something that is sold out can be bought again."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from seckill.models import Sale, SaleItem
from shop.models import Variant


class Reminder(models.Model):
    """One mail that somebody has asked for: about the opening of `sale`, or when `item` or `variant` is back.

    It waits until the address is confirmed (`confirmed_at`) and the time has come (`next_attempt_at`), and is deleted
    when the mail has left. So the shop keeps an address for as long as it needs it. `mailbox` is a keyed hash.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    sale = models.ForeignKey(Sale, models.CASCADE, related_name="reminders", null=True)
    item = models.ForeignKey(SaleItem, models.CASCADE, related_name="reminders", null=True)
    variant = models.ForeignKey(Variant, models.CASCADE, related_name="reminders", null=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="reminders", null=True)
    email = models.EmailField(max_length=254)
    mailbox = models.CharField(max_length=16)
    language = models.CharField(max_length=10)
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True)
    next_attempt_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("reminder")
        verbose_name_plural = _("reminders")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["mailbox", "sale", "item", "variant"], name="orders_reminder_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="orders_reminder_one_thing",
                condition=Q(sale__isnull=False, item=None, variant=None)
                | Q(sale=None, item__isnull=False, variant=None)
                | Q(sale=None, item=None, variant__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_attempt_at"], name="orders_reminder_due", condition=Q(next_attempt_at__isnull=False)
            ),
            models.Index(fields=["created_at"], name="orders_reminder_age"),
        ]

    def __str__(self) -> str:
        return str(self.uid)
