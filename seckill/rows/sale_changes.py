"""The journal of a sale."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class SaleChange(models.Model):
    """One entry of the journal: a change of a published item, who made it, when, why, and its outcome.

    It is written before the store is called. After a crash it is still pending, and `seckill/changes/journal.py`
    repeats it; the store applies each `operation_id` once. A change of a whole sale is one entry per item.
    """

    class Kind(models.TextChoices):
        ADD_UNITS = "add_units", _("add units")
        WITHDRAW_UNITS = "withdraw_units", _("withdraw units")
        PAUSE = "pause", _("pause")
        RESUME = "resume", _("resume")
        MOVE_END = "move_end", _("move the closing time")
        END_NOW = "end_now", _("end now")
        UNITS_PER_BUYER = "units_per_buyer", _("units per buyer")
        PAUSE_ITEM = "pause_item", _("pause the item")
        RESUME_ITEM = "resume_item", _("resume the item")
        RETURN_UNSOLD = "return_unsold", _("unsold units back to the stock")
        PACE = "pace", _("pace of the waiting room")
        DRAW = "draw", _("draw")

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        APPLIED = "applied", _("applied")
        REFUSED = "refused", _("refused")

    operation_id = models.UUIDField(_("operation"), default=uuid.uuid4, unique=True, editable=False)
    item = models.ForeignKey("seckill.SaleItem", models.PROTECT, related_name="changes", verbose_name=_("sale item"))
    kind = models.CharField(_("change"), max_length=20, choices=Kind)
    units = models.PositiveBigIntegerField(_("units"), null=True, blank=True)
    closes_at = models.DateTimeField(_("closes at"), null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=300)
    # Of a pause, by the code of its language.
    public_note = models.JSONField(_("note for buyers"), default=dict, db_default={}, blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("made by"), null=True
    )
    made_at = models.DateTimeField(_("made at"), auto_now_add=True)
    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.PENDING)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    outcome = models.CharField(_("outcome"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("change of a sale")
        verbose_name_plural = _("changes of sales")
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                name="seckill_salechange_finished_has_time",
                condition=Q(status="pending", finished_at=None) | (~Q(status="pending") & Q(finished_at__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(name="seckill_salechange_pending", fields=["item", "id"], condition=Q(status="pending")),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.item}"
