"""`Authorization: Bearer …`: knox's tokens. An unreadable header is refused with 401 instead of failing with 500."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from shop.models import ApiToken


class BearerAuthentication(TokenAuthentication):  # type: ignore[misc]
    def authenticate(self, request: Request) -> Any:
        try:
            return super().authenticate(request)
        except UnicodeDecodeError as error:
            raise AuthenticationFailed from error

    def _cleanup_token(self, auth_token: ApiToken) -> bool:
        """Knox reads all tokens of the user here, at each call, for expired ones. A sign-in deletes those."""
        if auth_token.expiry is None or auth_token.expiry >= timezone.now():
            return False
        auth_token.delete()
        return True

    def validate_user(self, auth_token: ApiToken) -> Any:
        if not auth_token.has_current_password():
            auth_token.delete()
            raise AuthenticationFailed(_("The password has been changed. Sign in again to get a new token."))
        return super().validate_user(auth_token)
