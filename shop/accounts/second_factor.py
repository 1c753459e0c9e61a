"""The second factor: staff need one where STAFF_SECOND_FACTOR says so, and a code that was wrong is in the log."""

from collections.abc import Callable

import structlog
from allauth.core import context
from allauth.mfa import app_settings
from allauth.mfa.base import forms
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from shop.http.client_address import client_address

log = structlog.get_logger(__name__)

ADMIN = "/admin/"
# Which somebody without a second factor needs to get it, or to leave.
OPEN = ("/admin/login/", "/admin/logout/", "/admin/password_change/", "/admin/jsi18n/")


class StaffSecondFactor:
    """Middleware: staff without a second factor are led from the admin to the page that makes one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(ADMIN) and settings.STAFF_SECOND_FACTOR and lacks_second_factor(request):
            messages.info(request, _("Staff sign in in two steps. Please set up the second one; then the admin opens."))
            return redirect("mfa_activate_totp")
        return self.get_response(request)


def lacks_second_factor(request: HttpRequest) -> bool:
    user = request.user
    return user.is_active and user.is_staff and not request.path_info.startswith(OPEN) and not is_mfa_enabled(user)


class CheckedCode(forms.BaseAuthenticateForm):  # type: ignore[misc]
    def clean_code(self) -> str:
        """The log has whose code was refused, and from where, but not the code."""
        try:
            code = str(super().clean_code())
        except ValidationError:
            request: HttpRequest = context.request
            log.warning("second_factor_failed", user=self.user.pk, address=client_address(request), path=request.path)
            raise
        keep_used(self.authenticator, code)
        return code


class AuthenticateForm(CheckedCode, forms.AuthenticateForm):  # type: ignore[misc]
    pass


class ReauthenticateForm(CheckedCode, forms.ReauthenticateForm):  # type: ignore[misc]
    pass


class ActivateTotpForm(ActivateTOTPForm):  # type: ignore[misc]
    def clean_code(self) -> str:
        """The code that turns the second factor on is used by that, which allauth does not note."""
        code = str(super().clean_code())
        authenticator = Authenticator(user=self.user, type=Authenticator.Type.TOTP)
        authenticator.wrap()._mark_code_used(code)
        keep_used(authenticator, code)
        return code


def keep_used(authenticator: Authenticator, code: str) -> None:
    """A code of an app, which is good for once, stays used for as long as its steps are accepted.

    allauth notes it for one step only. Its own note is prolonged, so that allauth itself refuses the code, and wrong
    codes of before go on counting. While the cache server is away, allauth checks no code at all.
    """
    if authenticator.type == Authenticator.Type.TOTP:
        steps = 2 * app_settings.TOTP_TOLERANCE + 1
        cache.touch(authenticator.wrap()._get_used_cache_key(code), timeout=steps * app_settings.TOTP_PERIOD)
