"""What staff can ask of the buyers of a sale, so that a script is not a thousand buyers. Each is off at first.

The rules for a pass are in `seckill/guards/pass_guards.py`; those about a paid order in `orders/units/one_for_each.py`.
"""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

AGE_HOURS_MAX = 10 * 365 * 24


class GuardFields(models.Model):
    """Columns of a sale. Staff may change them at any time; a change counts within a second or two."""

    needs_confirmed_mail = models.BooleanField(
        _("confirmed mail address"),
        default=False,
        db_default=False,
        help_text=_("Only accounts whose mail address is confirmed can reserve."),
    )
    account_age_hours = models.PositiveIntegerField(
        _("least age of the account in hours"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(AGE_HOURS_MAX)],
        help_text=_("Younger accounts cannot reserve. Empty: every account can."),
    )
    proof_of_work = models.BooleanField(
        _("proof of work"),
        default=False,
        db_default=False,
        help_text=_(
            "Each device computes for some seconds before it can reserve, while its buyer waits. "
            "Buyers without JavaScript cannot reserve then."
        ),
    )
    accounts_per_network = models.PositiveIntegerField(
        _("accounts of one network"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_(
            "The most accounts of one internet connection that can reserve. Empty: no limit. Offices share one."
        ),
    )
    accounts_per_device = models.PositiveIntegerField(
        _("accounts of one device"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("The most accounts of one browser that can reserve. Empty: no limit."),
    )
    one_per_address = models.BooleanField(
        _("one purchase for each delivery address"),
        default=False,
        db_default=False,
        help_text=_("Of each item. A second order to an address cannot be paid. Spelling and names do not count."),
    )
    one_per_card = models.BooleanField(
        _("one purchase for each payment card"),
        default=False,
        db_default=False,
        help_text=_(
            "Of each item. A second payment is refunded, where the payment company tells the shop cards apart."
        ),
    )

    class Meta:
        abstract = True

    @property
    def guards_passes(self) -> bool:
        """Whether a pass of this sale depends on more than its times."""
        return any(getattr(self, name) for name in PASS_GUARDS)

    @property
    def has_rules(self) -> bool:
        return self.guards_passes or self.one_per_address or self.one_per_card


PASS_GUARDS = (
    "needs_confirmed_mail",
    "account_age_hours",
    "proof_of_work",
    "accounts_per_network",
    "accounts_per_device",
)
ALL_GUARDS = (*PASS_GUARDS, "one_per_address", "one_per_card")
