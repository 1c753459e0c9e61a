"""Rehearsals of sales (orders/rehearsal/)."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from seckill.items.shadow import shadow_id
from seckill.models import Sale

# A rehearsal writes its row every half a second. After so long its process is dead, or nobody has started it.
SILENT_AFTER = timedelta(seconds=30)


class Rehearsal(models.Model):
    """One rehearsal of a sale; of each sale the last one with a report is kept. One runs at a time.

    `items` has a pair for each shadow: the id of the sale item, and its units there, null for unlimited. `figures` are
    those of the moment, `report` what was found at the end, as numbers (read by orders/preflight/rehearsal_verdict.py).
    `problem` says in each language why there is no report. `pulse_at` is the last sign of life, `written_at` the last
    batch of orders, `cleared_at` when the shadows left the store.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        BROKEN = "broken"

    class Stage(models.TextChoices):
        PREPARING = "preparing", _("preparing")
        RUSH = "rush", _("buyers ask")
        ORDERS = "orders", _("orders are written")
        RETURNS = "returns", _("unpaid units come back")
        LATE = "late", _("late buyers ask")

    sale = models.ForeignKey(Sale, models.CASCADE, related_name="rehearsals")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.PREPARING)
    buyers = models.PositiveIntegerField()
    items = models.JSONField(default=list)
    started_at = models.DateTimeField(default=timezone.now)
    pulse_at = models.DateTimeField(default=timezone.now)
    written_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    cleared_at = models.DateTimeField(null=True)
    figures = models.JSONField(default=dict)
    problem = models.JSONField(default=dict)
    report = models.JSONField(null=True)

    class Meta:
        verbose_name = _("rehearsal")
        verbose_name_plural = _("rehearsals")
        ordering = ["-pk"]
        # Staff who may change a sale may rehearse it.
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                name="orders_rehearsal_one_at_a_time", fields=["status"], condition=Q(status="running")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sale} · {self.started_at:%Y-%m-%d %H:%M}"

    @property
    def is_running(self) -> bool:
        return self.status == self.Status.RUNNING

    @property
    def shadow_ids(self) -> list[int]:
        return [shadow_id(rehearsal_id=self.pk, number=number) for number in range(len(self.items))]

    def go_on(self, **fields: Any) -> bool:
        """Write these fields and a sign of life. False if the rehearsal no longer runs: it was taken for dead."""
        running = Rehearsal.objects.filter(pk=self.pk, status=self.Status.RUNNING)
        return bool(running.update(pulse_at=Now(), **fields))

    def end(self, status: "Rehearsal.Status", **fields: Any) -> bool:
        """False if it had ended before."""
        return self.go_on(status=status, ended_at=timezone.now(), **fields)
