"""How many replicas a yes waits for, as staff chose it."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _


class ReplicaChoice(models.Model):
    """A choice of staff: how many replicas a yes waits for from then on. The last one counts, and none is deleted.

    `replicas` null means as many as SECKILL_YES_REPLICAS says.
    """

    replicas = models.PositiveSmallIntegerField(
        _("replicas that a yes waits for"),
        null=True,
        blank=True,
        help_text=_("Empty: as many as SECKILL_YES_REPLICAS says."),
    )
    reason = models.CharField(_("reason"), max_length=300)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("made by"), null=True, editable=False
    )
    made_at = models.DateTimeField(_("made at"), auto_now_add=True)

    class Meta:
        verbose_name = _("choice of replicas")
        verbose_name_plural = _("choices of replicas")
        ordering = ["-pk"]
        default_permissions = ("add", "view")

    def __str__(self) -> str:
        return str(_("as set")) if self.replicas is None else str(self.replicas)

    def clean(self) -> None:
        most: int = settings.SECKILL_YES_REPLICAS
        if self.replicas is not None and self.replicas > most:
            text = _("A yes can wait for 0 to %(most)d replicas: SECKILL_YES_REPLICAS is %(most)d.")
            raise ValidationError({"replicas": text % {"most": most}})
