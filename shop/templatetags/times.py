"""Times on a page: a time in the shop's time zone, a countdown by the server's clock."""

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

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
def local_time(moment: datetime, *, named: bool = True) -> SafeString:
    """A time in the shop's zone, which `named` adds. page.js adds the visitor's own time as a hint."""
    text = zone.named_time(moment) if named else zone.day_and_time(moment)
    return format_html('<time datetime="{}" data-local-time>{}</time>', moment.isoformat(), text)


@register.simple_tag
def short_time(moment: datetime, is_today: bool) -> SafeString:
    """As `local_time`, where there is little room: "20:00 UTC", on another day "Nov 23 20:00 UTC"."""
    text = zone.short_time(moment, with_day=not is_today)
    return format_html('<time datetime="{}" data-local-time>{}</time>', moment.isoformat(), text)


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
    """A countdown for a public page, which says nothing about now: only the scripts know how old the page is."""
    return format_html(
        '<span role="timer" class="countdown" data-countdown="{}">--:--</span>', int(moment.timestamp() * 1000)
    )


@register.filter
def duration(seconds: int) -> str:
    """A number of seconds in words: 15 minutes."""
    return time_left.duration(seconds)
