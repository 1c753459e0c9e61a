"""The shop's time zone: staff enter times in it, pages and mails show them in it. It is always named."""

from datetime import datetime, timedelta

from babel.dates import format_date, format_skeleton, get_timezone_name
from django.conf import settings
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _

# Half a year later a zone with summer time has its other offset.
HALF_A_YEAR = timedelta(days=182)
# Everybody in China calls it so; Unicode's tables do not.
OF_BEIJING = ("Asia/Shanghai", "Asia/Chongqing", "Asia/Harbin", "PRC")


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


def zone_name() -> str:
    """The zone in words: "Beijing time", "Central European Time"."""
    name = timezone.get_current_timezone_name()
    if name == "UTC":
        return name
    if name in OF_BEIJING:
        return _("Beijing time")
    return get_timezone_name(timezone.get_current_timezone(), locale=reader_locale())


def with_zone(text: str) -> str:
    """A time with the name of the zone: "Nov 22 14:02 (Beijing time)", "11月22日 14:02（北京时间）"."""
    return _("%(time)s (%(zone)s)") % {"time": text, "zone": zone_name()}


def named_time(at: datetime) -> str:
    """With the year and the zone: "Nov 22, 2026 14:02 (Beijing time)"."""
    return with_zone(f"{day_text(at, with_year=True)} {clock_text(at)}")


def short_time(at: datetime, *, with_day: bool) -> str:
    """Without the year: "14:02 (Beijing time)", "Nov 22 14:02 (Beijing time)"."""
    day = f"{day_text(at, with_year=False)} " if with_day else ""
    return with_zone(f"{day}{clock_text(at)}")


def window_text(opens_at: datetime, closes_at: datetime, *, with_year: bool) -> str:
    """A day once, if it is the same: "Nov 22 14:02–14:32 (Beijing time)"; otherwise both."""
    first, last = (day_text(at, with_year=with_year) for at in (opens_at, closes_at))
    if first == last:
        return with_zone(f"{first} {clock_text(opens_at)}–{clock_text(closes_at)}")
    return with_zone(f"{first} {clock_text(opens_at)} – {last} {clock_text(closes_at)}")


def is_this_year(at: datetime) -> bool:
    return timezone.localtime(at).year == timezone.localtime().year


def day_text(at: datetime, *, with_year: bool) -> str:
    """As the reader's language writes it: "Nov 22", "2026年11月22日"."""
    local = timezone.localtime(at)
    locale = reader_locale()
    return format_date(local, locale=locale) if with_year else format_skeleton("MMMd", local, locale=locale)


def clock_text(at: datetime) -> str:
    return f"{timezone.localtime(at):%H:%M}"


def reader_locale() -> str:
    return translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)


def words_for(at: datetime) -> str:
    """With the day of the week and the zone: "Tuesday, November 24, 2026, 09:00 (Asia/Shanghai, UTC+08:00)"."""
    local = timezone.localtime(at)
    day = format_date(local, format="full", locale=reader_locale())
    zone = timezone.get_current_timezone_name()
    return _("%(day)s, %(time)s (%(zone)s)") % {
        "day": day,
        "time": f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}",
        "zone": zone if zone == offset_text(at) else f"{zone}, {offset_text(at)}",
    }


def field_hint() -> str:
    """The help text of a field for a time."""
    return _("Time zone: %(zone)s.") % {"zone": zone_text()}
