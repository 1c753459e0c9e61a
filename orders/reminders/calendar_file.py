"""A sale as a calendar file (RFC 5545), with an alarm some minutes before the opening."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from seckill.models import Sale, published_sales
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached, take

# A line has at most so many bytes; a longer one goes on in the next, after a space.
LINE_BYTES_MAX = 75


@require_safe
def calendar(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        take(action="calendar", rate=settings.REMINDER_LIMIT, key=client_network(request))
    except LimitReached as error:
        return limit_reached(request, error)
    sale = get_object_or_404(published_sales(), pk=pk)
    response = HttpResponse(calendar_text(sale), content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="sale-{sale.pk}.ics"'
    return response


def calendar_text(sale: Sale) -> str:
    url = settings.SHOP_URL + sale.get_absolute_url()
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Stampede//Sales//EN",
        "BEGIN:VEVENT",
        f"UID:sale-{sale.pk}@{urlsplit(settings.SHOP_URL).hostname}",
        f"DTSTAMP:{in_utc(timezone.now())}",
        f"DTSTART:{in_utc(sale.opens_at)}",
        f"DTEND:{in_utc(sale.closes_at)}",
        f"SUMMARY:{escaped(f'{sale} · {settings.SHOP_NAME}')}",
        f"DESCRIPTION:{escaped(url)}",
        f"URL:{url}",
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        "TRIGGER:-PT10M",
        f"DESCRIPTION:{escaped(str(sale))}",
        "END:VALARM",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return "".join(folded(line) + "\r\n" for line in lines)


def in_utc(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def escaped(text: str) -> str:
    plain = " ".join(text.split())
    return plain.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def folded(line: str) -> str:
    parts, part = [], ""
    for sign in line:
        if len((part + sign).encode()) > LINE_BYTES_MAX:
            parts.append(part)
            part = " "
        part += sign
    return "\r\n".join([*parts, part])
