"""`Authorization: Pass …`, checked without a database."""

from typing import NoReturn

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from seckill import passes

log = structlog.get_logger(__name__)

SCHEME = "Pass"


class PassRefused(APIException):
    """A pass that is missing, altered, expired: 401; one for another item or another buyer: 403."""

    auth_header = SCHEME

    def __init__(self, code: str, detail: str, *, status: int = 401) -> None:
        super().__init__(detail, code)
        self.status_code = status


class PassHolder:
    """The buyer behind a pass, as far as it is known without a database: an id."""

    is_authenticated = True
    is_active = True

    def __init__(self, buyer_id: int) -> None:
        self.pk = buyer_id


class PassAuthentication(BaseAuthentication):
    """Reads the pass from the header. One that is absent or not good is refused here, before the body is read."""

    def authenticate(self, request: Request) -> tuple[PassHolder, passes.Pass]:
        scheme, _space, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != SCHEME.lower() or not text:
            refuse("pass_missing", _("Get a pass first, then send it as “Authorization: Pass …”."))
        try:
            pass_ = passes.read(text.strip())
        except passes.PassInvalid:
            refuse("pass_invalid", _("This pass is not valid: this shop did not issue it, or it was altered."))
        except passes.PassExpired:
            refuse("pass_expired", _("This pass has expired. Get a new one."))
        refuse_other_session(request, pass_)
        return PassHolder(pass_.buyer_id), pass_

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


def refuse(code: str, detail: str) -> NoReturn:
    raise PassRefused(code, detail)


def refuse_other_session(request: Request, pass_: passes.Pass) -> None:
    """A browser that also sends a session must be signed in as the pass's buyer.

    The pass alone is what counts; this only catches a mix-up, of two people at one browser, before it costs one of
    them a unit. The shop's own page sends no cookies with a reservation, so the hot path never comes to the lookup.
    """
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return
    try:
        signed_in = request._request.session.get(SESSION_KEY)
    except Exception as error:
        # The cache is another server. Its fault must not cost a buyer with a good pass their unit.
        log.warning("session_not_compared", error=repr(error))
        return
    if signed_in is not None and signed_in != str(pass_.buyer_id):
        raise PassRefused(
            "pass_of_another_buyer", _("This pass belongs to another buyer. Get your own pass."), status=403
        )


class PassScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI file describes the pass."""

    target_class = PassAuthentication
    name = "pass"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Pass <pass>`, from POST …/passes/. Good for one reservation of one sale item.",
        }
