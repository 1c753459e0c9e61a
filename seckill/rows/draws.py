"""The rows of a draw: its secret, what was fixed at the end of the entries, and one row for each entry."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Draw(models.Model):
    """The draw of a sale. It moves once through closed (hash and units are fixed) and drawn (the seed is public).

    `seed` is secret until `drawn_at`. `units` has the quantity of each item when the entries closed, None for no limit.
    `file` is what everybody can download from then on (seckill/draw/drawing.py).
    """

    sale = models.OneToOneField("seckill.Sale", models.CASCADE, primary_key=True, related_name="draw")
    seed = models.CharField(max_length=64)
    closed_at = models.DateTimeField(null=True)
    entries_sha256 = models.CharField(max_length=64, blank=True, default="")
    units = models.JSONField(default=dict)
    drawn_at = models.DateTimeField(null=True)
    file = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return str(self.sale)


class DrawEntry(models.Model):
    """One account's entry for one item. `entry_id` is public after the draw; `reservation_id` is that of its hold.

    `place` and `won_at_draw` are set by the draw and stay. `reserved_at` is when the store was known to hold the units.
    `told_at` is when the mail about the present status was queued.
    """

    class Status(models.TextChoices):
        ENTERED = "entered", _("entered")
        WON = "won", _("won")
        NOT_WON = "not_won", _("not won")
        PASSED_ON = "passed_on", _("passed on")

    item = models.ForeignKey("seckill.SaleItem", models.CASCADE, related_name="draw_entries")
    buyer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    units = models.PositiveIntegerField()
    entry_id = models.UUIDField(default=uuid.uuid4, unique=True)
    reservation_id = models.UUIDField(unique=True)
    entered_at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.ENTERED)
    place = models.PositiveIntegerField(null=True)
    won_at_draw = models.BooleanField(null=True)
    reserved_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "buyer"], name="seckill_drawentry_once"),
            models.CheckConstraint(name="seckill_drawentry_units_positive", condition=models.Q(units__gt=0)),
        ]
        indexes = [
            models.Index(fields=["item", "status", "place"], name="seckill_drawentry_in_order"),
            models.Index(fields=["status", "item"], name="seckill_drawentry_untold", condition=models.Q(told_at=None)),
        ]

    def __str__(self) -> str:
        return str(self.entry_id)
