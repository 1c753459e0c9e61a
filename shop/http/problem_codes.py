"""Codes of the API's problems: the meaning of each, and the next step for a program.

Each app has its own in `problem_codes.py`; web/api_docs/problem_pages.py shows all of them. A test finds every code in
the source and compares.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse

from shop.http.serializers import ProblemSerializer


@dataclass(frozen=True, slots=True)
class Explained:
    """A code. `status` is its usual HTTP status."""

    code: str
    status: int
    meaning: Any
    to_do: Any

    @property
    def address(self) -> str:
        """The member `type` of the problem: relative to the shop's address."""
        return type_of(self.code)


def type_of(code: str) -> str:
    return f"/api/docs/problems/{code}/"


def refusals_of(problems: Sequence[Explained]) -> Callable[..., dict[int, OpenApiResponse]]:
    """For `@extend_schema`: a function of codes with which a call may be refused; it gives the answers by status."""
    statuses = {explained.code: explained.status for explained in problems}

    def refusals(*codes: str) -> dict[int, OpenApiResponse]:
        by_status: dict[int, list[str]] = defaultdict(list)
        for code in codes:
            by_status[statuses[code]].append(code)
        # web/api_docs/openapi.py replaces the codes by sentences; translations are not loaded yet.
        return {status: OpenApiResponse(ProblemSerializer, " ".join(found)) for status, found in by_status.items()}

    return refusals


# Texts that several codes share.
CORRECT_IT = _("Correct the call. Repeating it unchanged gives the same answer.")
WAIT = _("Wait as many seconds as Retry-After says, then repeat the call.")
STOP = _("Do not try again.")

SIGNING_IN = [
    Explained("wrong_credentials", 401, _("The user name or the password is wrong."), _("Ask the buyer again.")),
    Explained(
        "second_factor_needed",
        401,
        _("The account has a second factor, and its code is missing or wrong."),
        _("Ask the buyer for the current code and send it as “code”."),
    ),
    Explained("too_many_attempts", 429, _("This was tried too often."), WAIT),
    Explained("not_authenticated", 401, _("The call has no token."), _("Get a token and send it with the call.")),
    Explained(
        "authentication_failed",
        401,
        _("The token is not valid: it has expired, was revoked, or the password was changed."),
        _("Sign in again to get a new token."),
    ),
    Explained("permission_denied", 403, _("This account may not do this."), STOP),
    Explained(
        "csrf_failed",
        403,
        _("A call with a browser's session lacks the CSRF token."),
        _("Send the cookie csrftoken as the header X-CSRFToken, or use a token of the API."),
    ),
]
ANY_CALL = [
    Explained(
        "invalid",
        400,
        _("A field of the body or of the address is not valid."),
        _("Correct the fields listed in “errors”."),
    ),
    Explained("parse_error", 400, _("The body is not a JSON object."), CORRECT_IT),
    Explained("bad_request", 400, _("The server could not read the call."), CORRECT_IT),
    Explained(
        "not_found",
        404,
        _("There is nothing at this address, or it belongs to somebody else."),
        _("Check the address and the account."),
    ),
    Explained("method_not_allowed", 405, _("The address does not know this method."), CORRECT_IT),
    Explained(
        "not_acceptable",
        406,
        _("The header Accept asks for something else than JSON."),
        _("Send “Accept: application/json”, or no such header."),
    ),
    Explained("body_too_slow", 408, _("The body did not arrive in time."), _("Repeat the call.")),
    Explained("length_required", 411, _("The header Content-Length is missing."), CORRECT_IT),
    Explained("body_too_large", 413, _("The body has more than 64 KiB."), CORRECT_IT),
    Explained("unsupported_media_type", 415, _("The body is not JSON."), _("Send “Content-Type: application/json”.")),
    Explained(
        "server_error",
        500,
        _("A fault of the shop. It has been logged."),
        _("Repeat the call in a moment, with the same pass or Idempotency-Key."),
    ),
]
UNAVAILABLE = Explained(
    "unavailable",
    503,
    _("A server of the shop does not answer at the moment. It does not mean sold out."),
    _("Wait as many seconds as Retry-After says, then repeat the call with the same pass."),
)
PROBLEMS = [*SIGNING_IN, UNAVAILABLE, *ANY_CALL]

refusals = refusals_of(PROBLEMS)
# Of each call that takes a body.
BODY_REFUSALS = ("invalid", "parse_error", "length_required", "body_too_large", "unsupported_media_type")
# Of each call that needs a sign-in.
TOKEN_REFUSALS = ("not_authenticated", "authentication_failed")
