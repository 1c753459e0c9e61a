"""Settings as plain attributes, for the calls of a stampede.

Each look at Django's own object runs a function of Python: a call to reserve had ten of them, 5 % of its time. What has
been looked at is kept, since the settings of a running shop do not change (tests change them, see tests/conftest.py).
"""

from typing import Any

from django.conf import settings


class QuickSettings:
    """The settings that have been asked for."""

    def __getattr__(self, name: str) -> Any:
        """Called for the first look at each: from then on, it is an attribute. Raises AttributeError as Django does."""
        value = getattr(settings, name)
        setattr(self, name, value)
        return value


quick_settings = QuickSettings()
