"""The time zone in which staff enter times and read them, named so that nobody takes it for another one."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

# Half a year later a zone with summer time has its other offset.
HALF_A_YEAR = timedelta(days=182)


def zone_text() -> str:
    """The zone with its offset: "Asia/Shanghai (UTC+08:00)", or "Europe/Berlin (now UTC+01:00)" if that changes."""
    zone, now = timezone.get_current_timezone_name(), timezone.now()
    offset = offset_text(now)
    if zone == offset:
        return zone
    if offset_text(now + HALF_A_YEAR) != offset:
        return _("%(zone)s (now %(offset)s)") % {"zone": zone, "offset": offset}
    return f"{zone} ({offset})"


def offset_text(at: datetime) -> str:
    """The zone's offset at that time. An abbreviation would not do: CST is a zone in China and one in America."""
    offset = timezone.localtime(at).isoformat()[-6:]
    return "UTC" if offset == "+00:00" else f"UTC{offset}"


def time_with_offset(at: datetime) -> str:
    """A time in the zone of the page: "2031-01-02 03:04:05 UTC+08:00"."""
    return f"{date_format(timezone.localtime(at), 'Y-m-d H:i:s')} {offset_text(at)}"


def field_hint() -> str:
    """The help text of a field for a time."""
    return _("Time zone: %(zone)s.") % {"zone": zone_text()}
