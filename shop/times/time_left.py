"""Time left, as a countdown shows it, and how long something lasts, in words.

`remaining` in shop/static/shop/countdown.js does the same as `remaining` here.
"""

from datetime import timedelta

from django.utils.translation import ngettext


def remaining(left: timedelta) -> str:
    """00:44, 14:59, 1:59:59, from one day on "2 days 03:04:05". Seconds are rounded up: zero means zero."""
    seconds = -int(-left.total_seconds() // 1)
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    if days:
        clock = f"{hours:02}:{minutes:02}:{seconds:02}"
        return ngettext("%(days)d day %(clock)s", "%(days)d days %(clock)s", days) % {
            "days": days,
            "clock": clock,
        }
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def duration(seconds: int) -> str:
    """40 seconds, 15 minutes, "1 hour 30 minutes", in the reader's language."""
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    parts = [
        (hours, ngettext("%(count)d hour", "%(count)d hours", hours)),
        (minutes, ngettext("%(count)d minute", "%(count)d minutes", minutes)),
        (seconds, ngettext("%(count)d second", "%(count)d seconds", seconds)),
    ]
    return " ".join(text % {"count": count} for count, text in parts if count)
