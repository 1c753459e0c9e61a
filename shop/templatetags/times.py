"""Times on a page: a time in the shop's time zone, a countdown by the server's clock."""

import re
from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from shop.times import time_left, zone

register = template.Library()
# For the pages of the admin.
register.simple_tag(zone.zone_text)
register.filter(zone.time_with_offset)


@register.simple_tag
def server_now_ms() -> int:
    """Milliseconds since 1970 at the moment of rendering: lets the page follow the server's clock."""
    return int(timezone.now().timestamp() * 1000)


@register.simple_tag
def zone_of_page() -> SafeString:
    """What visitor.js needs to write the visitor's own time before the shop's, as attributes of its element."""
    attributes = {
        "zone": timezone.get_current_timezone_name(),
        "own": _("{time} (your time)"),
        "shops": zone.with_zone("{time}"),
    }
    return format_html_join("", ' data-{}="{}"', attributes.items())


@register.simple_tag
def local_time(moment: datetime) -> SafeString:
    """A time in the shop's zone, with the year. visitor.js writes the visitor's own before it, where it differs."""
    return format_html('<time datetime="{}" data-shown="year">{}</time>', moment.isoformat(), zone.named_time(moment))


@register.simple_tag
def short_time(moment: datetime, is_today: bool) -> SafeString:
    """As `local_time`, where there is little room: "20:00 (UTC)", on another day "Nov 23 20:00 (UTC)"."""
    text = zone.short_time(moment, with_day=not is_today)
    return format_html('<time datetime="{}" data-shown="clock">{}</time>', moment.isoformat(), text)


@register.simple_tag
def time_window(opens_at: datetime, closes_at: datetime) -> SafeString:
    """From when to when: "Nov 23 09:29–09:59 (Beijing time)", with the year if it is another one."""
    with_year = not (zone.is_this_year(opens_at) and zone.is_this_year(closes_at))
    return format_html(
        '<time datetime="{}" data-until="{}" data-shown="{}">{}</time>',
        opens_at.isoformat(),
        closes_at.isoformat(),
        "year" if with_year else "day",
        zone.window_text(opens_at, closes_at, with_year=with_year),
    )


@register.simple_tag
def countdown(moment: datetime) -> SafeString:
    """The time left until `moment`, counted down by countdown.js. Screen readers do not announce role="timer"."""
    left = max(moment - timezone.now(), timedelta(0))
    return format_html(
        '<span role="timer" class="countdown" data-countdown="{}">{}</span>',
        int(moment.timestamp() * 1000),
        time_left.remaining(left),
    )


@register.simple_tag
def countdown_later(moment: datetime) -> SafeString:
    """A countdown for a public page, whose age only the scripts know. Zeros keep its room until they fill it in."""
    room = re.sub(r"\d", "0", time_left.remaining(max(moment - timezone.now(), timedelta(0))))
    return format_html(
        '<span role="timer" class="countdown unknown" data-countdown="{}">{}</span>',
        int(moment.timestamp() * 1000),
        room,
    )


@register.filter
def duration(seconds: int) -> str:
    """A number of seconds in words: 15 minutes."""
    return time_left.duration(seconds)
