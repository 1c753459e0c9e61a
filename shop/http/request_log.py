"""The log of requests, and the id that a request has in the log, in the answer and at the proxy.

Only Django's answers have the id: those from memory (web/) belong to many requests and are not logged.
"""

import re
import sys
import threading
import time
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django_structlog.middlewares import RequestMiddleware

from shop.configuration.log_lines import SECRET
from shop.http.endpoints import ENDPOINT, endpoint_of
from shop.http.problems import is_outage
from shop.tracing.steps import steps

log = structlog.get_logger(__name__)

HEADER = "X-Request-ID"
META = "HTTP_X_REQUEST_ID"
# It is written into each line of the request.
SOUND_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Set by web processes that render a page for their memory: visitors get the page of before if that fails.
RENDERING = "stampede.rendering"
# While a server is away there may be thousands of refusals a second.
INTERVAL_SECONDS = 60.0


class Refusals:
    """Counts the answers 503 of this process. One line says how many there were since the last one."""

    def __init__(self) -> None:
        self._count = 0
        self._again_s = 0.0
        self._lock = threading.Lock()

    def add(self, *, request: str, error: BaseException | None) -> None:
        with self._lock:
            self._count += 1
            if time.monotonic() < self._again_s:
                return
            count, self._count = self._count, 0
            self._again_s = time.monotonic() + INTERVAL_SECONDS
        reason = " ".join(str(error).split()) if error else "unavailable"
        log.warning("requests_unavailable", count=count, last=request, error=reason)


refusals = Refusals()


class RequestLog(RequestMiddleware):
    """Logs what failed by a fault of the shop, with its traceback, and once a minute that a server is away."""

    def prepare(self, request: HttpRequest) -> None:
        given = request.META.get(META, "") if settings.TRUSTED_PROXIES else ""
        request.META[META] = given if SOUND_ID.fullmatch(given) else str(uuid4())
        vars(request)["began_s"] = time.time()
        super().prepare(request)

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        if response.status_code == 503 and RENDERING not in request.META:
            error = getattr(request, "_raised_exception", None)
            refusals.add(request=self.format_request(request), error=error)
        response[HEADER] = request.META[META]
        request.META[ENDPOINT] = endpoint_of(request.resolver_match)
        if steps.recorder is not None:
            match = request.resolver_match
            steps.recorder.note_request(
                route=f"{request.method} /{match.route if match else ''}",
                began_s=vars(request)["began_s"],
                words={"request_id": request.META[META], "status": response.status_code},
            )
        super().handle_response(request, response)

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Without the query, in which staff search for people."""
        return f"{request.method} {SECRET.sub('…', request.path)}"

    def process_got_request_exception(self, sender: type[Any], request: HttpRequest, **more: Any) -> None:
        error = sys.exc_info()[1]
        if is_outage(error):
            # As the package notes an error that it has logged.
            vars(request)["_raised_exception"] = error
        else:
            super().process_got_request_exception(sender, request, **more)
