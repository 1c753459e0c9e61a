"""What a page may do in a browser: the Content-Security-Policy of the settings, and no camera, microphone or place.

And whether a browser keeps it: not what was made for one visitor, as the pages of allauth, which have secrets.
"""

from csp.constants import HEADER
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers, has_vary_header

from shop.configuration.content_policy import ADMIN_MORE
from shop.http.problems import ADMIN_PATH

# The shop uses none of these. A script that got into a page must not ask its reader for them.
PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"
# Answers of the API need nothing, and may be in no frame. The policy of pages is six times as long.
JSON_POLICY = "default-src 'none'; frame-ancestors 'none'"
API = "/api/v1/"
# Browsers read these of pages alone, and each header costs an answer from memory some hundredths of its time.
OF_PAGES = ("Cross-Origin-Opener-Policy", "Referrer-Policy", "X-Frame-Options")


class PagePolicies(CSPMiddleware):
    """Before the middleware that sets the headers of pages."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts: PolicyParts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(ADMIN_PATH) and not report_only:
            parts.update = ADMIN_MORE
        return parts

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # A 304 has no content type, and what it says replaces the headers that the browser has kept.
        if request.path_info.startswith(API):
            response.headers.setdefault(HEADER, JSON_POLICY)
            for name in OF_PAGES:
                response.headers.pop(name, None)
            return response
        answer: HttpResponseBase = super().process_response(request, response)
        if answer.get("Content-Type", "").startswith("text/html"):
            answer.headers.setdefault("Permissions-Policy", PERMISSIONS)
            if "Cache-Control" not in answer and has_vary_header(answer, "Cookie"):
                add_never_cache_headers(answer)
        return answer
