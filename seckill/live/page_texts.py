"""What the sale page says to its buyer: rendered into the page, spoken by its script."""

from typing import Any

from babel.numbers import format_decimal
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _

from seckill.ledger import Counters
from seckill.live.answer import availability_of
from seckill.outcomes import HTTP


def words_of_page() -> dict[str, Any]:
    """Every text that the page's script may show. It fills what stands in {braces}."""
    return {
        "outcomes": {
            outcome.value: {"title": str(answer.title), "detail": str(answer.detail)}
            for outcome, answer in HTTP.items()
        },
        "button": {
            "arm": _("Reserve at the start"),
            "armed": _("Waiting for the start – press to cancel"),
            "reserve": _("Reserve now"),
            "again": _("Try again"),
            "more": _("Reserve more"),
            "working": _("Reserving …"),
            "sold_out": _("Sold out"),
            "ended": _("The sale is over"),
            "paused": _("Paused"),
        },
        "stock": words_of_stock(),
        "phase": words_of_phase(),
        "said": {
            "ready": _("All set"),
            "armed": _("This page will reserve {units} × {product} for you at the start. Keep it open and visible."),
            "disarmed": _("Cancelled: nothing will be reserved at the start."),
            "minute_left": _("One minute until the start."),
            "seconds_left": _("Ten seconds until the start."),
            "open": _("The sale is open."),
            "resumed": _("The sale has resumed."),
            "paused": _("The sale is paused."),
            "ended": _("The sale is over."),
        },
        "yes": {
            "title": _("Reserved for you: {units} × {product}"),
            "detail": _("Held for you until {time}. We are creating your order …"),
            "written": _("Held for you until {time}. Your order is ready."),
            "paid": _("Paid. Thank you!"),
            "see": _("View your order"),
            "all": _("My orders"),
        },
        "ended": {
            "title": _("Your reservation has ended"),
            "detail": _("The units went back on sale. See My orders for the reason."),
        },
        "trouble": {
            "title": _("Connection problem"),
            "detail": _("Trying again (attempt {attempt}). Retrying never reserves twice."),
            "unknown_title": _("The shop did not answer"),
            "unknown_detail": _("Check My orders before you try again: your reservation may be there."),
            "signed_out_title": _("You are signed out"),
            "signed_out_detail": _("Sign in again to buy."),
            "sign_in": _("Sign in"),
            "failed_title": _("That did not work"),
            "failed_detail": _("Reload the page and try again."),
        },
    }


def words_of_stock() -> dict[str, str]:
    """By the API's `availability`; `held` is added where units may come back."""
    return {
        "available": _("{left} of {quantity} left"),
        "held_by_others": _("None of {quantity} left right now"),
        "held": _("{held} awaiting payment"),
        "sold_out": _("All {quantity} sold"),
        "unlimited": _("Unlimited stock"),
        "unavailable": _("We cannot show the stock right now"),
    }


def words_of_phase() -> dict[str, str]:
    """What stands before the countdown."""
    return {
        "upcoming": _("Opens in"),
        "open": _("Open, closes in"),
        "paused": _("Paused, closes in"),
        "ended": _("This sale is over"),
    }


def stock_text(counters: Counters | None) -> str:
    """The stock in a line, as `stockText` in seckill/static/seckill/card.js says it afterwards."""
    words = words_of_stock()
    if counters is None:
        return words["unavailable"]
    locale = to_locale(get_language() or "en")
    numbers = {
        name: format_decimal(value or 0, locale=locale)
        for name, value in (("left", counters.left), ("quantity", counters.quantity), ("held", counters.held))
    }
    text = words[availability_of(counters)].format(**numbers)
    if counters.held and counters.quantity is not None:
        text += " · " + words["held"].format(**numbers)
    return text
