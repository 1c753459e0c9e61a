"""The form of log lines: logfmt or JSON, from structlog and from the standard library alike."""

import logging
import re
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

TEXT_LENGTH_MAX = 600
# A signed link, which opens the order of a guest or sets a password. The id of an order is shorter.
SECRET = re.compile(r"[^/]{37,}")
# Errors of Django about a wrong Host, too long an address, and too large a form.
CLIENT_FAULTS = ("DisallowedHost", "DisallowedRedirect", "RequestDataTooBig", "TooManyFieldsSent")
# PostgreSQL quotes the row that breaks a rule, and it may be of a person.
ROW_VALUES = re.compile(r"\n(DETAIL|CONTEXT): .*")

# Of every line, also those of the standard library.
FIELDS: list[Processor] = [
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso"),
    structlog.processors.format_exc_info,
]
# Loggers keep this very list: one that has written a line would not hear of another.
PROCESSORS: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.filter_by_level,
    *FIELDS,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]


class WithoutTraceback(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


class WithoutLinks(logging.Filter):
    """Of lines that end with the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and record.args:
            *before, path = record.args
            record.args = (*before, SECRET.sub("…", str(path)))
        return True


def shortened(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Cut texts that are too long for a person to read, as some errors of Redis clients, and values of rows."""
    for name, value in event.items():
        if isinstance(value, str):
            value = without_row_values(value)
            is_long = len(value) > TEXT_LENGTH_MAX and name != "exception"
            event[name] = f"{value[:TEXT_LENGTH_MAX]}…" if is_long else value
    return event


def without_row_values(text: str) -> str:
    return ROW_VALUES.sub("", text)


def logging_settings(*, level: str, as_json: bool = False) -> dict[str, Any]:
    """Configure structlog, and return Django's LOGGING."""
    in_logfmt = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event", "logger"])
    in_json = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    structlog.configure(
        processors=PROCESSORS,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    shortened,
                    in_json if as_json else in_logfmt,
                ],
                "foreign_pre_chain": FIELDS,
            }
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
        "filters": {"one_line": {"()": WithoutTraceback}, "no_links": {"()": WithoutLinks}},
        "loggers": {
            # shop/http/request_log.py logs the same requests, once.
            "django.request": {"level": "CRITICAL"},
            # Anybody can send such a request, and the traceback is always the same.
            **{f"django.security.{fault}": {"filters": ["one_line"]} for fault in CLIENT_FAULTS},
            "django.security.csrf": {"filters": ["no_links"]},
        },
    }
