"""What a page may do in a browser: the Content-Security-Policy of the settings, and no camera, microphone or place."""

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from shop.configuration.content_policy import ADMIN_MORE
from shop.http.problems import ADMIN_PATH

# The shop uses none of these. A script that got into a page must not ask its reader for them.
PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"


class PagePolicies(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts: PolicyParts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(ADMIN_PATH) and not report_only:
            parts.update = ADMIN_MORE
        return parts

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        answer: HttpResponseBase = super().process_response(request, response)
        if answer.get("Content-Type", "").startswith("text/html"):
            answer.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return answer
