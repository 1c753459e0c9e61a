"""Notes about orders, which staff alone see."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from orders.models.order import Order


class OrderNote(models.Model):
    """A note with its author, who cannot change it later. The form chooses its id, so sending it twice makes one."""

    id = models.UUIDField(_("note"), primary_key=True, default=uuid.uuid4, editable=False)
    order = models.ForeignKey(Order, models.CASCADE, related_name="notes", verbose_name=_("order"))
    text = models.TextField(_("note"))
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", verbose_name=_("made by"), null=True
    )
    made_at = models.DateTimeField(pgettext_lazy("note", "made at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("note of the staff")
        verbose_name_plural = _("notes of the staff")
        ordering = ["-made_at"]
        # They are read and added on the page of their order.
        default_permissions = ()

    def __str__(self) -> str:
        return self.text
