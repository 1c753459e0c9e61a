"""An app that is installed only where OTEL_EXPORTER_OTLP_ENDPOINT or SENTRY_DSN is set: its packages are an extra."""

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

try:
    from shop.tracing.error_reports import start_error_reports
    from shop.tracing.spans import span_recorder
except ImportError as error:
    raise ImproperlyConfigured(
        f"{error}. OTEL_EXPORTER_OTLP_ENDPOINT and SENTRY_DSN need: pip install -r requirements/tracing.txt"
    ) from error
from shop.tracing.steps import steps


class TracingConfig(AppConfig):
    name = "shop.tracing"
    label = "tracing"

    def ready(self) -> None:
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            steps.recorder = span_recorder()
        if settings.SENTRY_DSN:
            start_error_reports(dsn=settings.SENTRY_DSN)
