"""The journal of the ordinary stock: each change of a variant's units, by whom, when and why."""

import re

from django.conf import settings
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from shop.models.catalogue import Variant


class StockChange(models.Model):
    """One entry. `units` are the units moved; a change by staff may be negative.

    `reference` names the reason of the move: the number of an order, or "sale 42". An entry is never changed or
    deleted, so a variant that has one stays.
    """

    class Kind(models.TextChoices):
        COUNTED = "counted", _("counted")
        CHANGED = "changed", _("changed by staff")
        HELD = "held", _("held for a checkout")
        RELEASED = "released", _("released by a checkout")
        SOLD = "sold", _("sold")
        SOLD_LATE = "sold_late", _("sold, paid late")
        RETURNED = "returned", _("returned")
        TO_SALE = "to_sale", _("given to a flash sale")
        FROM_SALE = "from_sale", _("back from a flash sale")

    # The index with the id begins with it.
    variant = models.ForeignKey(
        Variant, models.PROTECT, related_name="stock_changes", verbose_name=_("variant"), db_index=False
    )
    kind = models.CharField(_("change"), max_length=20, choices=Kind)
    units = models.BigIntegerField(_("units"))
    available_before = models.PositiveIntegerField(_("available before"))
    available_after = models.PositiveIntegerField(_("available after"))
    held_before = models.PositiveIntegerField(_("held before"))
    held_after = models.PositiveIntegerField(_("held after"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    reference = models.CharField(_("for"), max_length=64, blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", verbose_name=_("made by"), null=True, blank=True
    )
    made_at = models.DateTimeField(_("made at"), auto_now_add=True)

    class Meta:
        verbose_name = _("change of the stock")
        verbose_name_plural = _("changes of the stock")
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["variant", "-id"], name="shop_stockchange_of_variant"),
            models.Index(fields=["reference"], name="shop_stockchange_reference", condition=~models.Q(reference="")),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.variant}"

    @property
    def shown_reference(self) -> str:
        """As staff read it on other pages: an order as K7M2-Q9XT, a sale in their language."""
        if sale := re.fullmatch(r"sale (\d+)", self.reference):
            return gettext("sale %(number)s") % {"number": sale[1]}
        is_order = re.fullmatch("[A-Z0-9]{8}", self.reference)
        return f"{self.reference[:4]}-{self.reference[4:]}" if is_order else self.reference


class TakenStep(models.Model):
    """A form or a table that has changed the stock. Sent once more, it changes nothing."""

    token = models.UUIDField(primary_key=True)
    taken_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.token)
