"""`/api/v1/auth/token/`: a user name and a password give a bearer token; DELETE revokes it."""

from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from shop.accounts.second_factor import AuthenticateForm
from shop.accounts.sign_in import check_password
from shop.http.base_view import JsonAPIView
from shop.http.bearer import BearerAuthentication
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS, refusals
from shop.http.serializers import StrictSerializer, TimeField
from shop.models import ApiToken
from shop.models.people import AccountEnded, lock_account

# Far more than one person's programs need. Beyond it the oldest goes: a program that forgets its tokens and signs in
# each time goes on working, and no longer leaves a growing number of keys to the account behind.
TOKENS_PER_USER_MAX = 10


class WrongCredentials(APIException):
    status_code = 401
    default_code = "wrong_credentials"
    title = _("Wrong user name or password")
    default_detail = _("The user name or the password is wrong.")
    auth_header = "Bearer"


class SecondFactorNeeded(APIException):
    status_code = 401
    default_code = "second_factor_needed"
    title = _("The second factor is missing or wrong")
    default_detail = _("This account has a second factor. Send its current code, or a recovery code, as “code”.")
    auth_header = "Bearer"


class CredentialsSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False)
    code = serializers.CharField(
        max_length=50, required=False, help_text="Of an account with a second factor: its current code."
    )


class TokenSerializer(serializers.Serializer[Any]):
    token = serializers.CharField()
    expires_at = TimeField()


class TokenView(JsonAPIView):
    def get_authenticators(self) -> list[BaseAuthentication]:
        return [BearerAuthentication()] if self.is_revocation() else []

    def get_permissions(self) -> list[BasePermission]:
        return [IsAuthenticated()] if self.is_revocation() else []

    def is_revocation(self) -> bool:
        return self.request is not None and self.request.method == "DELETE"

    @extend_schema(
        request=CredentialsSerializer,
        responses={
            201: TokenSerializer,
            **refusals(*BODY_REFUSALS),
            **refusals("wrong_credentials", "second_factor_needed", "too_many_attempts"),
        },
    )
    def post(self, request: Request) -> Response:
        """Get a bearer token for a user name and a password. Browsers use sessions instead.

        A user has at most 10 tokens; a new one ends the oldest. All end when the password is changed.
        """
        credentials = CredentialsSerializer(data=request.data)
        credentials.is_valid(raise_exception=True)
        sent = credentials.validated_data
        user = check_password(request._request, username=sent["username"], password=sent["password"])
        if not isinstance(user, User):
            raise WrongCredentials
        if is_mfa_enabled(user):
            form = AuthenticateForm(user=user, data={"code": sent.get("code", "")})
            if not form.is_valid():
                raise SecondFactorNeeded
            form.authenticator.record_usage()
        try:
            row, token = new_token(user)
        except AccountEnded:
            raise WrongCredentials from None
        body = TokenSerializer({"token": token, "expires_at": row.expiry}).data
        return Response(body, status=201, headers={"Cache-Control": "no-store"})

    @extend_schema(request=None, responses={204: None, **refusals(*TOKEN_REFUSALS)})
    def delete(self, request: Request) -> Response:
        """Revoke the token with which this call is made."""
        request.auth.delete()
        return Response(status=204)


def new_token(user: User) -> tuple[ApiToken, str]:
    """A token, after the user's expired ones and the oldest beyond TOKENS_PER_USER_MAX are deleted.

    Raises AccountEnded.
    """
    with transaction.atomic():
        # Two sign-ins at the same moment would each see room for one more.
        lock_account(user.pk)
        tokens = ApiToken.objects.filter(user=user)
        tokens.filter(expiry__lt=timezone.now()).delete()
        kept = tokens.order_by("-created").values_list("pk", flat=True)[: TOKENS_PER_USER_MAX - 1]
        tokens.exclude(pk__in=list(kept)).delete()
        return ApiToken.objects.create(user)


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI file describes the token."""

    target_class = "shop.http.bearer.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from POST /api/v1/auth/token/."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI file describes a browser's session."""

    target_class = "shop.http.session_sign_in.SessionSignIn"
    name = "cookieAuth"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
