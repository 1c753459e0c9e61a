"""Errors under /api/ as `application/problem+json` (RFC 9457), those of DRF as well as Django's own.

`code` is for programs, `detail` is for people, and `type` is the address of a page about the code.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any

import structlog
from django.contrib import admin
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.csrf import csrf_failure as django_csrf_failure
from rest_framework import exceptions
from rest_framework.views import set_rollback

from shop.background.outages import AWAY
from shop.databases.statement_limits import exceeds_limit
from shop.http.parsers import BodyTooLarge
from shop.http.problem_codes import type_of
from shop.http.rate_limits import LimitReached
from shop.times.time_left import duration
from shop.times.timestamps import now_ms, rfc3339

log = structlog.get_logger(__name__)

CONTENT_TYPE = "application/problem+json"
ADMIN_PATH = "/admin/"

# The answer while a server is down. A restarted server is back within seconds.
OUTAGE: dict[str, Any] = {
    "status": 503,
    "code": "unavailable",
    "title": gettext_lazy("Temporarily unavailable"),
    "detail": gettext_lazy("The shop is temporarily unavailable. Please try again in a moment."),
    "retry_after_seconds": 5,
}

# Most of allauth's limits are by the minute.
ALLAUTH_WAIT_SECONDS = 60


def problem(
    *, status: int, code: str, title: Any, detail: Any, retry_after_seconds: int | None = None, **more: Any
) -> JsonResponse:
    """A problem document. `retry_after_seconds` also becomes the Retry-After header; `more` are extension members."""
    body = {
        "type": type_of(code),
        "title": str(title),
        "status": status,
        "detail": str(detail),
        "code": code,
    }
    if retry_after_seconds is not None:
        body["retry_after"] = retry_after_seconds
    response = JsonResponse({**body, **more}, status=status, content_type=CONTENT_TYPE)
    response["Cache-Control"] = "no-store"
    if retry_after_seconds is not None:
        response["Retry-After"] = str(retry_after_seconds)
    return response


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """DRF's exceptions as problems. Others are left to Django, which calls `server_error`."""
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, RequestDataTooBig):
        error = BodyTooLarge()
    if is_outage(error):
        return problem(**OUTAGE)
    if isinstance(error, LimitReached):
        return problem(**too_many_attempts(error.retry_after_seconds))
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    if isinstance(error, exceptions.ValidationError):
        response = problem(
            status=error.status_code,
            code="invalid",
            title=_("The request is not valid"),
            detail=_("Correct the fields listed in “errors” and send the request again."),
            errors=list(field_errors(error.get_full_details())),
        )
    else:
        wait = getattr(error, "wait", None)
        response = problem(
            status=error.status_code,
            code=str(error.get_codes()) if isinstance(error.detail, str) else error.default_code,
            title=title_of(error),
            detail=error.detail,
            retry_after_seconds=math.ceil(wait) if wait else None,
        )
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    return response


def title_of(error: exceptions.APIException) -> Any:
    """A short name of the kind of problem. An error of ours has it in `title`."""
    if title := getattr(error, "title", None):
        return title
    # The names that Django's own errors have here. DRF's texts for others have a gap for a value, or are the one for a
    # server error.
    if isinstance(error, exceptions.NotFound):
        return _("Not found")
    if isinstance(error, exceptions.PermissionDenied):
        return _("Not allowed")
    if isinstance(error, exceptions.UnsupportedMediaType):
        return _("Unsupported media type")
    if isinstance(error, exceptions.MethodNotAllowed):
        return _("Method not allowed")
    if error.default_detail == exceptions.APIException.default_detail:
        return _("The request failed")
    return error.default_detail


def too_many_attempts(retry_after_seconds: int) -> dict[str, Any]:
    return {
        "status": 429,
        "code": "too_many_attempts",
        "title": _("Too many attempts"),
        "detail": _("Please wait %(time)s, then try again.") % {"time": duration(retry_after_seconds)},
        "retry_after_seconds": retry_after_seconds,
    }


def field_errors(details: Any, path: str = "") -> Iterator[dict[str, str]]:
    """DRF's nested error details as a flat list of `{field, code, detail}`."""
    if isinstance(details, dict) and set(details) == {"message", "code"} and isinstance(details["code"], str):
        yield {"field": path, "code": details["code"], "detail": str(details["message"])}
    elif isinstance(details, dict):
        for name, inner in details.items():
            yield from field_errors(inner, f"{path}.{name}" if path else str(name))
    else:
        for inner in details:
            yield from field_errors(inner, path)


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400."""
    title: Any
    if isinstance(exception, RequestDataTooBig):
        status, code, title, detail = 413, "body_too_large", BodyTooLarge.title, _("The request body is too large.")
    else:
        status, code, title, detail = 400, "bad_request", _("Bad request"), _("The server could not read this request.")
    return page_or_problem(request, status=status, code=code, title=title, detail=detail)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403. Staff stay in the admin, with its sidebar."""
    if request.path.startswith(ADMIN_PATH) and admin.site.has_permission(request):
        context = {**admin.site.each_context(request), "title": _("Your account may not do this.")}
        return render(request, "admin/forbidden.html", context, status=403)
    return page_or_problem(
        request,
        status=403,
        code="permission_denied",
        title=_("Not allowed"),
        detail=_("You are not allowed to do this."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    return page_or_problem(
        request,
        status=404,
        code="not_found",
        title=_("Not found"),
        detail=_("There is nothing at this address."),
    )


def limit_reached(request: HttpRequest, error: LimitReached) -> HttpResponse:
    """429, as a page or as a problem."""
    return page_or_problem(request, **too_many_attempts(error.retry_after_seconds))


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """handler429, for allauth's own limits, which do not say how long to wait."""
    return page_or_problem(request, **too_many_attempts(ALLAUTH_WAIT_SECONDS))


def is_outage(error: BaseException | None) -> bool:
    """Whether the error means that PostgreSQL or a Redis server cannot be reached at the moment."""
    return isinstance(error, AWAY) and not exceeds_limit(error)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500. The cause is only in the log. 503 where a server cannot be reached."""
    if is_outage(sys.exc_info()[1]):
        return page_or_problem(request, **OUTAGE)
    return page_or_problem(
        request,
        status=500,
        code="server_error",
        title=_("Something went wrong on our side"),
        detail=_("The error has been logged. Please try again."),
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """settings.CSRF_FAILURE_VIEW."""
    if not is_api(request):
        return django_csrf_failure(request, reason=reason)
    return problem(
        status=403,
        code="csrf_failed",
        title=_("Not allowed"),
        detail=_("The CSRF token is missing or wrong. Reload the page and try again."),
        server_time=rfc3339(now_ms()),
    )


def page_or_problem(
    request: HttpRequest, *, status: int, code: str, title: Any, detail: Any, retry_after_seconds: int | None = None
) -> HttpResponse:
    if is_api(request):
        return problem(status=status, code=code, title=title, detail=detail, retry_after_seconds=retry_after_seconds)
    response = render(request, "shop/error.html", {"title": title, "detail": detail}, status=status)
    if retry_after_seconds is not None:
        response["Retry-After"] = str(retry_after_seconds)
    return response
