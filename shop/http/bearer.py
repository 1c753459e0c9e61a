"""`Authorization: Bearer …`: knox's tokens. An unreadable header is refused with 401 instead of failing with 500."""

from typing import Any

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

    def validate_user(self, auth_token: ApiToken) -> Any:
        if not auth_token.has_current_password():
            auth_token.delete()
            raise AuthenticationFailed(_("The password has been changed. Sign in again to get a new token."))
        return super().validate_user(auth_token)
