"""Errors to a server that speaks Sentry's protocol (SENTRY_DSN), without anything about a person."""

from typing import Any

import sentry_sdk
from sentry_sdk.integrations.django import DjangoIntegration
from sentry_sdk.integrations.logging import ignore_logger
from structlog.contextvars import get_contextvars

from shop.configuration.log_lines import without_row_values


def without_persons(event: Any, _hint: object) -> Any:
    """An address may be a guest's secret link, and PostgreSQL's errors may quote a row."""
    # The transaction is the route.
    for part in ("request", "user", "extra"):
        event.pop(part, None)
    for exception in event.get("exception", {}).get("values", []):
        exception["value"] = without_row_values(exception.get("value") or "")
    if "request_id" in (known := get_contextvars()):
        event.setdefault("tags", {})["request_id"] = known["request_id"]
    return event


def start_error_reports(*, dsn: str) -> None:
    """Errors alone: no share of requests is measured, and no breadcrumbs, which quote what was logged before."""
    # Their errors come with the exception; and anybody can send a wrong Host.
    for name in ("django_structlog.middlewares.request", "django.security.DisallowedHost"):
        ignore_logger(name)
    sentry_sdk.init(
        dsn=dsn,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        # The middleware of each request is not wrapped for measurements that are off.
        integrations=[DjangoIntegration(middleware_spans=False, signals_spans=False, cache_spans=False)],
        before_send=without_persons,
    )
