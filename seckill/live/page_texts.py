"""The texts of the sale page: some are rendered by the template, the others are shown by its scripts."""

import math
from collections.abc import Mapping
from typing import Any

from babel.numbers import format_decimal
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _

from seckill.guards.guard_texts import guard_texts
from seckill.ledger import Counters, Reservation
from seckill.live.answer import availability_of
from seckill.live.room_texts import room_texts
from seckill.outcomes import HTTP, Outcome
from seckill.phase import Phase
from shop.http.problems import OUTAGE
from shop.times.time_left import duration


def sale_page_texts(*, has_draw: bool = False) -> dict[str, Any]:
    """Every text that the page's scripts may show. They fill in the {placeholders}."""
    return {
        "outcomes": {
            outcome.value: {"title": str(answer.title), "detail": str(answer.detail)}
            for outcome, answer in HTTP.items()
        }
        | {"unpaid_too_often": unpaid_texts()}
        | {guard.value: texts for guard, texts in guard_texts().items()}
        | {code: not_let_in_texts(code) for code in ("place_needed", "place_not_called")},
        "room": room_texts(),
        "button": {
            "schedule": _("Reserve at the start"),
            "scheduled": _("Waiting for the start – press to cancel"),
            "not_called": _("Not your turn yet"),
            "reserve": _("Reserve now"),
            "retry": _("Try again"),
            "more": _("Reserve more"),
            "reserving": _("Reserving …"),
            "sold_out": _("Sold out"),
            "limit_reached": _("Limit reached"),
            "ended": _("The sale is over"),
            "paused": _("Paused"),
        },
        "stock": stock_texts(),
        "phase": phase_texts(has_draw=has_draw),
        "announcements": {
            "minute_left": _("One minute until the start."),
            "seconds_left": _("Ten seconds until the start."),
            "proof": _("Your browser computes for some seconds before it reserves."),
            "open": _("The entries have closed.") if has_draw else _("The sale is open."),
            "resumed": _("The sale has resumed."),
            "paused": _("The sale is paused."),
            "ended": _("The sale is over."),
        },
        "scheduled": {
            "title": _("All set"),
            "detail": _("This page will reserve {units} × {product} for you at the start. Keep it open and visible."),
            "no_address": _("Save a delivery address now, in a new tab, and pay at once afterwards."),
        },
        "schedule_cancelled": _("Cancelled: nothing will be reserved at the start."),
        "reserved": {
            "title": _("Reserved for you: {units} × {product}"),
            "creating_order": _("Held for you until {time}. We are creating your order …"),
            "order_ready": _("Held for you until {time}. Your order is ready."),
            "signed_out": _("Held for you until {time}. You are signed out. Sign in to pay."),
            "paid": _("Paid. Thank you!"),
            "view_order": _("View your order"),
            "my_orders": _("My orders"),
            "sign_in": _("Sign in to pay"),
        },
        "limit": limit_texts(),
        "units_back": {
            "title": _("Units are available again"),
            "detail": _("You can try again now."),
        },
        "reservation_ended": {
            "title": _("Your reservation has ended"),
            "detail": _("The units are no longer held for you. See My orders for the reason."),
        },
        "line": line_texts(),
        "errors": error_texts(),
        "sign_in": _("Sign in"),
    }


def error_texts() -> dict[str, dict[str, str]]:
    return {
        "connection": {
            "title": _("Connection problem"),
            "detail": _("Trying again (attempt {attempt}). Retrying never reserves twice."),
        },
        "no_answer": {
            "title": _("The shop did not answer"),
            "detail": _("Check My orders before you try again: your reservation may be there."),
        },
        "signed_out": {"title": _("You are signed out"), "detail": _("Sign in again to buy.")},
        "failed": {"title": _("That did not work"), "detail": _("Reload the page and try again.")},
    }


def line_texts() -> dict[str, Any]:
    return {
        "join": _("Join the waiting list"),
        "joining": _("Joining …"),
        "leave": _("Leave the waiting list"),
        "place": _("You are number {place} in line for {units} × {product}"),
        "left": _("You have left the waiting list."),
        "lost": {
            "title": _("Your place in the waiting list has ended"),
            "detail": _("You have left it elsewhere, or have as many units as one buyer may have. See My orders."),
        },
        "ended": _("The waiting list has ended"),
    }


def limit_texts() -> dict[str, str]:
    """How many units the buyer can still take: all of them, some, none."""
    return {
        "all": _("At most {max} per buyer"),
        "some": _("You have {had} of at most {max}; you can still take {remaining}."),
        "none": _("You have reached the limit of {max} per buyer."),
        "none_left": _("If you cancel an order, or its time to pay runs out, reload this page to reserve again."),
    }


def limit_text(*, remaining: int, per_buyer_max: int) -> str:
    """How many units the buyer can still take; `limitText` in seckill/static/seckill/card.js says the same."""
    word = "none" if not remaining else "all" if remaining == per_buyer_max else "some"
    return limit_texts()[word].format(had=per_buyer_max - remaining, max=per_buyer_max, remaining=remaining)


def refusal_detail(reservation: Reservation) -> str:
    """Why the units were not reserved, in a sentence."""
    if reservation.outcome is Outcome.LIMIT_REACHED and reservation.remaining < reservation.per_buyer_max:
        return limit_text(remaining=reservation.remaining, per_buyer_max=reservation.per_buyer_max)
    return str(HTTP[reservation.outcome].detail)


def unpaid_too_often(retry_after_seconds: int) -> dict[str, Any]:
    """Why a buyer gets no pass for an item, as a problem or a page."""
    return {
        "status": 409,
        "code": "unpaid_too_often",
        "title": unpaid_texts()["title"],
        "detail": _("You can reserve it again in %(time)s. Other items are not affected.")
        # Whole minutes: the wait is of hours.
        % {"time": duration(math.ceil(retry_after_seconds / 60) * 60)},
        "retry_after_seconds": retry_after_seconds,
    }


def not_let_in_texts(code: str) -> dict[str, Any]:
    """Why a buyer gets no pass in a sale with a waiting room, as a problem or a page. `code` is a NotLetIn."""
    if code == "unavailable":
        return dict(OUTAGE)
    if code == "place_not_called":
        title, detail = _("It is not your turn yet"), _("Wait in the waiting room until your place is called.")
    else:
        title, detail = _("This sale has a waiting room"), _("Join it, and wait until your place is called.")
    return {"status": 409, "code": code, "title": title, "detail": detail, "retry_after_seconds": 5}


def unpaid_texts() -> dict[str, str]:
    return {
        "title": _("Reserved several times without paying"),
        "detail": _("You can reserve it again later. Other items are not affected."),
    }


def stock_texts() -> dict[str, str]:
    """By the API's `availability`; `held` is added where units may come back."""
    return {
        "available": _("{left} of {quantity} left"),
        "held_by_others": _("None of {quantity} left right now"),
        "held": _("{held} awaiting payment"),
        "sold_out": _("Sold out"),
        "unlimited": _("Unlimited stock"),
        # Of a sale that is over: what happened.
        "ended": _("{sold} of {quantity} sold"),
        "ended_unlimited": _("{sold} sold"),
        "unavailable": _("We cannot show the stock right now"),
    }


def phase_texts(*, has_draw: bool = False) -> dict[str, str]:
    """The label before the countdown. At the opening of a draw its entries close, and nobody can order in it."""
    return {
        "upcoming": _("Entries close in") if has_draw else _("Opens in"),
        "open": _("Entries closed, ends in") if has_draw else _("Open, closes in"),
        "paused": _("Paused, closes in"),
        "ended": _("This sale is over"),
    }


def pause_note_text(note: Mapping[str, str] | None) -> str:
    """The note in the reader's language, else in the first one that it has; empty without a note.

    `noteText` in seckill/static/seckill/card.js chooses in the same way.
    """
    return note.get(get_language() or "") or next(iter(note.values())) if note else ""


def stock_text(counters: Counters | None, *, offered: int | None = None) -> str:
    """The stock in one line; `stockText` in seckill/static/seckill/card.js updates it in the same form.

    `offered` is how many units a sale had that is over; the store has only those that did not go back to the stock.
    """
    texts = stock_texts()
    if counters is None:
        return texts["unavailable"]
    locale = to_locale(get_language() or "en")
    numbers = {
        name: format_decimal(value or 0, locale=locale)
        for name, value in (
            ("left", counters.left),
            ("quantity", offered or counters.quantity),
            ("held", counters.held),
            ("sold", counters.sold),
        )
    }
    text = texts[stock_word(counters)].format(**numbers)
    if counters.held and counters.quantity is not None:
        text += " · " + texts["held"].format(**numbers)
    return text


def stock_word(counters: Counters) -> str:
    """The word of `stock_texts` for the counters."""
    if counters.phase is Phase.ENDED:
        return "ended_unlimited" if counters.quantity is None else "ended"
    return availability_of(counters)
