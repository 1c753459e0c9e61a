"""What a page may do in a browser: the Content-Security-Policy of the settings, and no camera, microphone or place."""

from csp.middleware import CSPMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# The shop uses none of these. A script that got into a page must not ask its reader for them.
PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"


class PagePolicies(CSPMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        answer: HttpResponseBase = super().process_response(request, response)
        if answer.get("Content-Type", "").startswith("text/html"):
            answer.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return answer
