"""Calls that are made once, however often they are repeated (draft-ietf-httpapi-idempotency-key-header)."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class IdempotentCall(models.Model):
    """A call with an `Idempotency-Key`. `owner` is the caller: two callers may use the same key.

    `fingerprint` is a hash of the request. `status` and `answer` are null while the first call is running.
    """

    owner = models.CharField(_("caller"), max_length=64)
    key = models.CharField(_("key"), max_length=255)
    fingerprint = models.CharField(_("fingerprint"), max_length=64)
    status = models.PositiveSmallIntegerField(_("HTTP status"), null=True)
    answer = models.JSONField(_("answer"), null=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True, db_index=True)

    class Meta:
        verbose_name = _("idempotent call")
        verbose_name_plural = _("idempotent calls")
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="orders_idempotentcall_once")]

    def __str__(self) -> str:
        return self.key
