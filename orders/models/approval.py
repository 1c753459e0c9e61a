"""Changes above the shop's bounds, which a second person approves."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class ApprovalRequest(models.Model):
    """A change that one person asks for and another one with the same right approves or declines.

    Its id is also that of the refund or the change that is made, so carrying it out twice makes one. `subject_id` is
    the order, the sale item or the sale, by the kind; `details` are the figures that were asked for.
    """

    class Kind(models.TextChoices):
        REFUND = "refund", _("refund")
        ADD_UNITS = "add_units", _("add units")
        PUBLISH = "publish", _("publish")

    class Status(models.TextChoices):
        WAITING = "waiting", _("waiting")
        APPROVED = "approved", _("approved, being carried out")
        DONE = "done", _("carried out")
        REFUSED = "refused", _("approved, but no longer possible")
        DECLINED = "declined", _("declined")
        EXPIRED = "expired", pgettext_lazy("approval", "expired")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(_("change"), max_length=10, choices=Kind)
    subject_id = models.BigIntegerField()
    subject = models.CharField(_("of"), max_length=300)
    details = models.JSONField(default=dict)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.WAITING)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("asked by"))
    asked_at = models.DateTimeField(_("asked at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires at"))
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("decided by"), null=True
    )
    decided_at = models.DateTimeField(_("decided at"), null=True)
    decision_reason = models.CharField(_("reason of the decision"), max_length=300, blank=True)
    # Why it was no longer possible, in the language of the one who approved it.
    outcome = models.CharField(_("outcome"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("request for approval")
        verbose_name_plural = _("requests for approval")
        ordering = ["-asked_at"]
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                name="orders_approval_by_another_person", condition=Q(decided_by=None) | ~Q(decided_by=F("asked_by"))
            ),
            models.UniqueConstraint(
                fields=["kind", "subject_id"],
                condition=Q(status__in=("waiting", "approved")),
                name="orders_approval_one_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.subject}"

    @property
    def is_waiting(self) -> bool:
        return self.status == self.Status.WAITING and self.expires_at > timezone.now()


def waiting_requests() -> models.QuerySet[ApprovalRequest]:
    """Those that a second person can still decide about."""
    return ApprovalRequest.objects.filter(status=ApprovalRequest.Status.WAITING, expires_at__gt=Now())
