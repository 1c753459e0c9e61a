"""Texts of other packages that the shop's own catalogue translates.

Their Chinese says 你 where the shop says 您, or sounds like a machine, or there is none.
"""

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

VALIDATORS = (
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
        "",
    ),
    ngettext_lazy(
        "Ensure this value has at most %(limit_value)d character (it has %(show_value)d).",
        "Ensure this value has at most %(limit_value)d characters (it has %(show_value)d).",
        "limit_value",
    ),
    gettext_noop("A user with that username already exists."),
    gettext_noop("This field is required."),
    gettext_noop("Enter a valid email address."),
    gettext_noop("Enter a valid username. This value may contain only letters, numbers, and @/./+/-/_ characters."),
    gettext_noop("The password is too similar to the %(verbose_name)s."),
    gettext_noop("This password is too common."),
    gettext_noop("This password is entirely numeric."),
    gettext_noop("You must type the same password each time."),
    gettext_noop("Incorrect code."),
)

# django-unfold, the admin's theme, has no Chinese.
OF_THE_ADMIN = (
    gettext_noop("Select record"),
    gettext_noop("Select all rows"),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Select value"),
    gettext_noop("Select format"),
    gettext_noop("Run"),
    gettext_noop("Add row"),
    gettext_noop("Apply Filters"),
    gettext_noop("Reset filters"),
    gettext_noop("Return to site"),
    gettext_noop("Type to search"),
    gettext_noop("More actions"),
    gettext_noop("No results found"),
    gettext_noop("No results matching your query"),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("Non field specific"),
    gettext_noop("Choose file to upload"),
    gettext_noop("This item will be deleted."),
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("Expand row"),
    gettext_noop("Image preview"),
    gettext_noop("No data"),
    gettext_noop("Record picture"),
    gettext_noop("True"),
    gettext_noop("False"),
    gettext_noop("View traceback"),
    gettext_noop("Toggle password visibility"),
    gettext_noop("Go back"),
    gettext_noop("General"),
    gettext_noop("Light"),
    gettext_noop("Dark"),
    gettext_noop("System"),
    gettext_noop("Are you sure?"),
    gettext_noop("The {name} “{obj}” was added successfully. You may add another {name} below."),
    gettext_noop("The {name} “{obj}” was changed successfully. You may edit it again below."),
    gettext_noop("The {name} “{obj}” was changed successfully. You may add another {name} below."),
    gettext_noop("You don’t have permission to view or edit anything."),
    gettext_noop("Your password was changed."),
)

STAFF_PAGES = (
    gettext_noop("Error:"),
    gettext_noop("Select all"),
    gettext_noop("Changes"),
    gettext_noop("Choose a date from the list below to revert to a previous version of this object"),
    gettext_noop("Resource"),
    gettext_noop("Filters"),
    gettext_noop(
        "Designates whether this user should be treated as active. Unselect this instead of deleting accounts."
    ),
)
