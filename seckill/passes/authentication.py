"""`Authorization: Pass …`, checked without a database."""

from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from seckill.passes import passes

log = structlog.get_logger(__name__)

SCHEME = "Pass"

# By the code: the HTTP status, the title and the detail.
PASS_REFUSALS: dict[str, tuple[int, Any, Any]] = {
    "pass_missing": (401, _("A pass is needed"), _("Get a pass first, then send it as “Authorization: Pass …”.")),
    "pass_invalid": (
        401,
        _("The pass is not valid"),
        _("This pass is not valid: this shop did not issue it, or it was altered."),
    ),
    "pass_expired": (401, _("The pass has expired"), _("This pass has expired. Get a new one.")),
    "pass_of_another_buyer": (
        403,
        _("The pass belongs to another buyer"),
        _("This pass belongs to another buyer. Get your own pass."),
    ),
    "pass_of_another_item": (403, _("The pass is for another item"), _("This pass is for another item of the sale.")),
}


class PassRefused(APIException):
    """One of PASS_REFUSALS."""

    auth_header = SCHEME

    def __init__(self, code: str) -> None:
        self.status_code, self.title, detail = PASS_REFUSALS[code]
        super().__init__(detail, code)


class PassHolder:
    """The buyer of a pass. Without a database, only the id is known."""

    is_authenticated = True

    def __init__(self, buyer_id: int) -> None:
        self.pk = buyer_id


class PassAuthentication(BaseAuthentication):
    """Reads the pass from the header. A missing or invalid pass is refused before the body is read."""

    def authenticate(self, request: Request) -> tuple[PassHolder, passes.Pass]:
        scheme, _space, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != SCHEME.lower() or not text:
            raise PassRefused("pass_missing")
        try:
            pass_ = passes.read(text.strip())
        except passes.PassInvalid:
            raise PassRefused("pass_invalid") from None
        except passes.PassExpired:
            raise PassRefused("pass_expired") from None
        refuse_other_session(request, pass_)
        return PassHolder(pass_.buyer_id), pass_

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


def refuse_other_session(request: Request, pass_: passes.Pass) -> None:
    """If the browser also sends a session, it must be that of the pass's buyer.

    The pass alone decides who reserves. This check only catches a mix-up when two people share a browser, before one
    of them loses a unit. The shop's own page sends no cookies with a reservation, so the hot path skips the lookup.
    """
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return
    try:
        signed_in = request._request.session.get(SESSION_KEY)
    except Exception as error:
        # Sessions are in the cache. If it fails, a buyer with a valid pass must still be able to reserve.
        log.warning("session_not_compared", error=repr(error))
        return
    if signed_in is not None and signed_in != str(pass_.buyer_id):
        raise PassRefused("pass_of_another_buyer")


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
