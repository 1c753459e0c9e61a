"""`Authorization: Pass …`, checked without a database."""

from typing import NoReturn

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from seckill.passes import passes

log = structlog.get_logger(__name__)

SCHEME = "Pass"

TITLES = {
    "pass_missing": gettext_lazy("A pass is needed"),
    "pass_invalid": gettext_lazy("The pass is not valid"),
    "pass_expired": gettext_lazy("The pass has expired"),
    "pass_of_another_buyer": gettext_lazy("The pass belongs to another buyer"),
    "pass_of_another_item": gettext_lazy("The pass is for another item"),
}


class PassRefused(APIException):
    """401 if the pass is missing, altered or expired; 403 if it is for another item or buyer."""

    auth_header = SCHEME

    def __init__(self, code: str, detail: str, *, status: int = 401) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.title = TITLES[code]


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
