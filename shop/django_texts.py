"""Texts of Django that the shop's own catalogue translates, because Django's Chinese says 你 and the shop says 您."""

from django.utils.translation import gettext_noop, ngettext_lazy

PASSWORD_HINTS = (
    gettext_noop("Your password can’t be too similar to your other personal information."),
    ngettext_lazy(
        "Your password must contain at least %(min_length)d character.",
        "Your password must contain at least %(min_length)d characters.",
        "min_length",
    ),
    gettext_noop("Your password can’t be a commonly used password."),
    gettext_noop("Your password can’t be entirely numeric."),
    gettext_noop("Your old password was entered incorrectly. Please enter it again."),
)
