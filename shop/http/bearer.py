"""`Authorization: Bearer …`: knox's tokens. An unreadable header is refused with 401 instead of failing with 500."""

from typing import Any

from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request


class BearerAuthentication(TokenAuthentication):  # type: ignore[misc]
    def authenticate(self, request: Request) -> Any:
        try:
            return super().authenticate(request)
        except UnicodeDecodeError as error:
            raise AuthenticationFailed from error
