"""`POST /api/v1/auth/token/`: a user name and a password give a bearer token."""

from typing import Any

from django.contrib.auth import authenticate
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiResponse, extend_schema
from knox.models import get_token_model
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from shop.http.base_view import JsonAPIView
from shop.http.serializers import ProblemSerializer, StrictSerializer


class WrongCredentials(APIException):
    status_code = 401
    default_code = "wrong_credentials"
    auth_header = "Bearer"

    def __init__(self) -> None:
        super().__init__(_("The user name or the password is wrong."))


class CredentialsSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False)


class TokenSerializer(serializers.Serializer[Any]):
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()


class TokenView(JsonAPIView):
    """Get a bearer token for a user name and a password. Browsers use sessions instead."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        request=CredentialsSerializer,
        responses={201: TokenSerializer, 401: OpenApiResponse(ProblemSerializer, "`wrong_credentials`")},
    )
    def post(self, request: Request) -> Response:
        credentials = CredentialsSerializer(data=request.data)
        credentials.is_valid(raise_exception=True)
        user = authenticate(request, **credentials.validated_data)
        if user is None:
            raise WrongCredentials
        instance, token = get_token_model().objects.create(user=user)
        body = TokenSerializer({"token": token, "expires_at": instance.expiry}).data
        return Response(body, status=201, headers={"Cache-Control": "no-store"})


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI file describes the token."""

    target_class = "shop.http.bearer.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from POST /api/v1/auth/token/."}
