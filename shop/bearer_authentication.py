"""`Authorization: Bearer …`: knox's tokens, with a header that cannot be read refused instead of a fault."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request


class BearerAuthentication(TokenAuthentication):  # type: ignore[misc]
    def authenticate(self, request: Request) -> Any:
        try:
            return super().authenticate(request)
        except UnicodeDecodeError as error:
            raise AuthenticationFailed from error


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI file describes the token."""

    target_class = BearerAuthentication
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from POST /api/v1/auth/token/."}
