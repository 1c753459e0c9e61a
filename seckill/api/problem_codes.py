"""Codes of the API's problems in flash sales: of passes, and of reservations in the order of the checks."""

from django.utils.translation import gettext_lazy as _

from shop.http import problem_codes as shop
from shop.http.problem_codes import STOP, UNAVAILABLE, WAIT, Explained, refusals_of

NEW_PASS = _("Get a new pass and send that one.")

PROBLEMS = [
    Explained("too_early", 409, _("Passes are not issued yet: the sale opens later."), WAIT),
    Explained(
        "unpaid_too_often",
        409,
        _("The buyer has let several holds of this item end without paying."),
        WAIT,
    ),
    Explained(
        "place_needed",
        409,
        _("The sale has a waiting room, and the buyer has no place in it, or one that has lapsed."),
        _("Join the waiting room of the sale."),
    ),
    Explained("place_not_called", 409, _("The buyer's place in the waiting room is not called yet."), WAIT),
    Explained(
        "place_invalid",
        401,
        _("The call has no place token of this sale, or the place is not known any more."),
        _("Join the waiting room of the sale, with the token if there is one."),
    ),
    Explained(
        "no_waiting_room",
        409,
        _("The sale has no waiting room: first come, first served."),
        _("Get a pass for an item of the sale."),
    ),
    Explained(
        "proof_needed",
        403,
        _("The sale asks for a proof of work, and the call has none."),
        _("Get a challenge from “challenge_url”, solve it, and send it as “proof”."),
    ),
    Explained(
        "proof_refused",
        403,
        _("The proof is wrong, too old, was used before, or is of another buyer or sale."),
        _("Get a new challenge from “challenge_url”, solve it, and send it as “proof”."),
    ),
    Explained(
        "mail_not_confirmed",
        403,
        _("The sale is for accounts with a confirmed e-mail address."),
        _("Ask the buyer to confirm the address, then repeat the call."),
    ),
    Explained(
        "account_too_new",
        403,
        _("The sale is for accounts that are older."),
        _(
            "If there is a Retry-After, wait as many seconds as it says, then repeat the call. "
            "Otherwise do not try again."
        ),
    ),
    Explained(
        "too_many_accounts",
        403,
        _("No more accounts of this network or device get passes of this sale."),
        STOP,
    ),
    Explained(
        "drawn",
        409,
        _("The units of the sale are drawn among its entries, so there are no passes for it."),
        _("Enter the draw until the sale opens."),
    ),
    Explained(
        "no_draw",
        409,
        _("The sale has no draw."),
        _("Get a pass for an item of the sale."),
    ),
    Explained("entries_closed", 410, _("The draw takes no entries any more, and none can be withdrawn."), STOP),
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
    UNAVAILABLE,
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
    # The waiting list
    Explained(
        "no_line",
        409,
        _("The sale has no waiting list."),
        _("Try to reserve again later, or watch the live figures."),
    ),
    Explained(
        "already_reserved",
        409,
        _("This pass has reserved units, so it needs no place in the waiting list."),
        _("Ask for the status of the reservation: its id is that of the pass."),
    ),
    Explained("units_left", 409, _("No need to wait: so many units are left."), _("Reserve them with this pass.")),
    Explained("line_full", 409, _("The waiting list has as many places as it can have."), STOP),
]

refusals = refusals_of([*shop.PROBLEMS, *PROBLEMS])
