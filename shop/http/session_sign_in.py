"""Calls of the API with a browser's session. Without the token of forms they are refused with a code of their own."""

from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import APIException, PermissionDenied
from rest_framework.request import Request


class CsrfFailed(APIException):
    status_code = 403
    default_code = "csrf_failed"
    title = _("Not allowed")
    default_detail = _("The CSRF token is missing or wrong. Reload the page and try again.")


class SessionSignIn(SessionAuthentication):
    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise CsrfFailed from error
