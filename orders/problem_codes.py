"""Codes of the API's problems in carts, checkouts, orders and payments."""

from django.utils.translation import gettext_lazy as _

from seckill.api import problem_codes as seckill
from shop.http import problem_codes as shop
from shop.http.problem_codes import STOP, WAIT, Explained, refusals_of

PROBLEMS = [
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
        _("A price is not the one that the cart or the order last said. Nothing was ordered or charged."),
        _("Read the cart, or the order, show the buyer the new prices and repeat the call with the new total."),
    ),
    Explained(
        "shipping_not_offered",
        409,
        _("The shop does not send these goods to this country in this way. Nothing was ordered or changed."),
        _("Choose one of GET /api/v1/shipping-methods/."),
    ),
    Explained(
        "too_many_unpaid",
        409,
        _("The buyer, or the guest's address, has as many unpaid orders as one may have."),
        _("Ask the buyer to pay or to cancel one of them."),
    ),
    Explained(
        "guest_needs_account",
        409,
        _("The order has more units than a guest may order: of one product, or in all. Nothing was ordered."),
        _("Sign in and check out again, or order fewer. The “detail” says how many."),
    ),
    Explained(
        "guests_wait",
        409,
        _("Unpaid orders of guests, of this network or of a product, hold as many units as they may."),
        _("Sign in and check out again, or wait as many seconds as Retry-After says."),
    ),
    # The receipt of a reservation
    Explained(
        "receipt_invalid",
        400,
        _("This shop did not issue the receipt, or it was altered."),
        _("Send the receipt as it was in the answer to the reservation."),
    ),
    Explained(
        "receipt_of_another_buyer",
        403,
        _("The receipt belongs to another buyer than the one who is signed in."),
        _("Sign in as the buyer who reserved."),
    ),
    Explained(
        "reservation_lost",
        409,
        _("The shop has lost the reservation, and its units have gone since. Staff see it in their list."),
        _("Tell the buyer. Repeating the call is safe: units that come back may be had."),
    ),
    # The order
    Explained(
        "not_awaiting_payment",
        409,
        _("The order is already paid, or it has ended."),
        _("Read the order; its status is in “order_status”."),
    ),
    Explained("time_over", 409, _("The time to pay is over. The units are no longer held for you."), STOP),
    Explained("no_provider", 409, _("The shop takes no online payments."), _("Pay as the shop says.")),
    Explained(
        "delivery_missing",
        409,
        _("For this order of a flash sale, no way of sending is chosen yet."),
        _("Send PUT /api/v1/orders/{number}/shipping-address/ with a shipping_method, then repeat the call."),
    ),
    Explained(
        "address_needed",
        409,
        _("The sale has one purchase for each delivery address, and the order has no address."),
        _("Send PUT /api/v1/orders/{number}/shipping-address/, then repeat the call."),
    ),
    Explained(
        "address_taken",
        409,
        _("The sale has one purchase for each delivery address, and another order goes to this one."),
        _("Ask the buyer for another address, or cancel the order."),
    ),
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
        _("The address, the way of sending or the invoice of the order can no longer be changed."),
        _("Ask the buyer to contact the shop."),
    ),
    Explained("cancelled_too_often", 429, _("The buyer has cancelled orders for this item several times."), WAIT),
    # A reminder
    Explained(
        "too_many_reminders",
        409,
        _("The account has as many reminders as one account may have."),
        _("Ask the buyer to delete one: DELETE /api/v1/reminders/."),
    ),
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
]

refusals = refusals_of([*shop.PROBLEMS, *seckill.PROBLEMS, *PROBLEMS])
