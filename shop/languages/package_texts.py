"""What the pages of Django, the admin's theme and its parts say, and their own catalogues lack in Chinese.

Their templates look it up by these words, in the shop's catalogue too.
"""

from django.utils.translation import gettext_noop

TEXTS = (
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop("Changes"),
    gettext_noop("Choose a date from the list below to revert to a previous version of this object"),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("Error:"),
    gettext_noop("Expand row"),
    gettext_noop("False"),
    gettext_noop("Image preview"),
    gettext_noop("No data"),
    gettext_noop("Record picture"),
    gettext_noop("Select all"),
    gettext_noop("True"),
    gettext_noop("View traceback"),
)
