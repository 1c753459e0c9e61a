"""The shop's time zone: staff enter times in it, pages and mails show them in it. It is always named."""

from datetime import datetime, timedelta

from babel.dates import format_date, format_skeleton
from django.conf import settings
from django.utils import timezone, translation
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


def day_and_time(at: datetime) -> str:
    """As the reader's language writes it, without the zone: "Nov 22, 2026 14:02", "2026年11月22日 14:02"."""
    locale = translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)
    local = timezone.localtime(at)
    return f"{format_date(local, locale=locale)} {local:%H:%M}"


def short_time(at: datetime, *, with_day: bool) -> str:
    """With the zone and without the year: "14:02 UTC+08:00", "Nov 22 14:02 UTC+08:00", "11月22日 14:02 UTC+08:00"."""
    locale = translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)
    local = timezone.localtime(at)
    day = f"{format_skeleton('MMMd', local, locale=locale)} " if with_day else ""
    return f"{day}{local:%H:%M} {offset_text(at)}"


def named_time(at: datetime) -> str:
    """As `day_and_time`, with the zone: "Nov 22, 2026 14:02 UTC+08:00"."""
    return f"{day_and_time(at)} {offset_text(at)}"


def words_for(at: datetime) -> str:
    """With the day of the week and the zone: "Tuesday, November 24, 2026, 09:00 (Asia/Shanghai, UTC+08:00)"."""
    locale = translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)
    local = timezone.localtime(at)
    day = format_date(local, format="full", locale=locale)
    zone = timezone.get_current_timezone_name()
    return _("%(day)s, %(time)s (%(zone)s)") % {
        "day": day,
        "time": f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}",
        "zone": zone if zone == offset_text(at) else f"{zone}, {offset_text(at)}",
    }


def field_hint() -> str:
    """The help text of a field for a time."""
    return _("Time zone: %(zone)s.") % {"zone": zone_text()}
