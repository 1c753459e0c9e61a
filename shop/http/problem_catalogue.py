"""All codes of the API's problems: what each means, and what a program should do.

Pages under /api/docs/problems/ show this table, and the OpenAPI file repeats it. A test finds every code in the source
and compares.
"""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _


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


# Said of several.
CORRECT_IT = _("Correct the call. Repeating it unchanged gives the same answer.")
NEW_PASS = _("Get a new pass and send that one.")
WAIT = _("Wait as many seconds as Retry-After says, then repeat the call.")
STOP = _("Do not try again.")

# In the order of a purchase.
EXPLAINED = [
    # Signing in
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
    # The pass
    Explained("too_early", 409, _("Passes are not issued yet: the sale opens later."), WAIT),
    Explained(
        "pass_missing",
        401,
        _("The call has no pass."),
        _("Get a pass and send it as “Authorization: Pass …”."),
    ),
    Explained("pass_invalid", 401, _("This shop did not issue the pass, or it was altered."), NEW_PASS),
    Explained("pass_expired", 401, _("The pass is too old."), NEW_PASS),
    Explained(
        "pass_of_another_buyer",
        403,
        _("The browser is signed in as somebody else than the buyer of the pass."),
        NEW_PASS,
    ),
    Explained(
        "pass_of_another_item", 403, _("The pass is for another item of the sale."), _("Get a pass for this item.")
    ),
    # The reservation, in the order of the checks
    Explained(
        "unavailable",
        503,
        _("A server of the shop does not answer at the moment. It does not mean sold out."),
        _("Wait as many seconds as Retry-After says, then repeat the call with the same pass."),
    ),
    Explained(
        "hold_ended",
        409,
        _("The reservation of this pass has ended: it was not paid in time, or it was cancelled."),
        _("To try again, get a new pass."),
    ),
    Explained("paused", 409, _("The shop has paused the sale."), WAIT),
    Explained("not_open", 409, _("The sale has not opened yet."), WAIT),
    Explained("closed", 410, _("The sale is over."), STOP),
    Explained("sold_out", 410, _("All units are sold. None can come back."), STOP),
    Explained(
        "held_by_others",
        409,
        _("No units are left, but some are held by buyers who have not paid yet and may come back."),
        WAIT,
    ),
    Explained(
        "limit_reached",
        409,
        _("The buyer would have more units than one buyer may have."),
        _("Ask for at most as many units as “remaining” says."),
    ),
    Explained(
        "too_few_left",
        409,
        _("Fewer units are left than were asked for."),
        _("Ask for at most as many units as “left” says."),
    ),
    # The checkout
    Explained(
        "idempotency_key_missing",
        400,
        _("The header Idempotency-Key is missing or not valid."),
        _("Send 1 to 255 printable characters: new ones for each operation, the same when you repeat a call."),
    ),
    Explained(
        "idempotency_key_running",
        409,
        _("The first call with this Idempotency-Key is still running."),
        _("Repeat the call after as many seconds as Retry-After says. It gets the answer of the first one."),
    ),
    Explained(
        "idempotency_key_reused",
        422,
        _("The Idempotency-Key was sent with another call, which asked for something else."),
        _("Send a new key for each operation."),
    ),
    Explained(
        "cart_empty",
        409,
        _("There is nothing in the cart to order."),
        _("Put something into the cart: PUT /api/v1/cart/."),
    ),
    Explained(
        "stock_changed",
        409,
        _("Some lines of the cart have fewer units left than wanted, or are no longer sold. Nothing was ordered."),
        _("Show the buyer the “lines”, change the cart and check out again."),
    ),
    Explained(
        "price_changed",
        409,
        _("A price is not the one that the cart last said. Nothing was ordered."),
        _("Read the cart, show the buyer the new prices and check out again."),
    ),
    Explained(
        "shipping_not_offered",
        409,
        _("The shop does not send this cart to this country in this way. Nothing was ordered."),
        _("Choose one of GET /api/v1/shipping-methods/."),
    ),
    Explained(
        "too_many_unpaid",
        409,
        _("The buyer, or the guest's address, has as many unpaid orders as one may have."),
        _("Ask the buyer to pay or to cancel one of them."),
    ),
    # The order
    Explained(
        "not_awaiting_payment",
        409,
        _("The order is already paid, or it has ended."),
        _("Read the order; its status is in “order_status”."),
    ),
    Explained("time_over", 409, _("The time to pay is over. The units go back on sale."), STOP),
    Explained("no_provider", 409, _("The shop takes no online payments."), _("Pay as the shop says.")),
    Explained(
        "provider_unreachable",
        503,
        _("The payment company does not answer. Nothing was charged, and the units are still held."),
        _("Wait as many seconds as Retry-After says, then repeat the call with the same Idempotency-Key."),
    ),
    Explained(
        "record_lost",
        503,
        _("The order may be paid already, and the shop has to check it first. Nothing is charged twice."),
        _("Ask the buyer to contact the shop."),
    ),
    Explained(
        "address_fixed",
        409,
        _("The delivery address can no longer be changed: the order was sent, or it has ended."),
        _("Ask the buyer to contact the shop."),
    ),
    Explained("cancelled_too_often", 429, _("The buyer has cancelled orders for this item several times."), WAIT),
    # The webhook
    Explained(
        "signature_invalid",
        400,
        _("The message of a payment company was not signed with this shop's secret, or was altered."),
        _("Check the secret on both sides."),
    ),
    Explained(
        "signature_expired",
        400,
        _("The message of a payment company was signed too long ago."),
        _("Sign it again, and check the clocks on both sides."),
    ),
    # Any call
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

BY_CODE = {explained.code: explained for explained in EXPLAINED}
