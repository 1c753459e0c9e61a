"""What a buyer reads who gets no pass by the rules of a sale: what happened, and what to do next."""

from typing import Any

from django.utils.translation import gettext as _

from seckill.guards.pass_guards import Guard, GuardRefused
from shop.times.time_left import duration


def guard_problem(error: GuardRefused) -> dict[str, Any]:
    """As a problem of the API, or a page."""
    texts = guard_texts()[error.guard]
    detail = texts["detail"]
    if error.retry_after_seconds:
        detail = _("Your account is too new for this sale. In %(time)s you can take part.") % {
            "time": duration(-(-error.retry_after_seconds // 60) * 60)
        }
    return {
        "status": 403,
        "code": error.guard.value,
        "title": texts["title"],
        "detail": detail,
        "retry_after_seconds": error.retry_after_seconds,
    }


def rule_names() -> dict[str, str]:
    """All rules by the word under which their refusals are counted, in the order of a purchase."""
    return {
        **{guard.value: texts["title"] for guard, texts in guard_texts().items()},
        "one_per_address": _("The delivery address had its purchase already"),
        "one_per_card": _("The payment card had its purchase already"),
    }


def guard_texts() -> dict[Guard, dict[str, str]]:
    """By the code. The sale's page shows them too."""
    return {
        Guard.PROOF_NEEDED: {
            "title": _("Your browser must compute first"),
            "detail": _(
                "For this sale, your browser computes for some seconds before it can reserve. That needs JavaScript "
                "and a secure connection (https). Switch JavaScript on, and reserve on the page of the sale."
            ),
        },
        Guard.PROOF_REFUSED: {
            "title": _("The proof was not accepted"),
            "detail": _("It was wrong, too old or used before. Reload the page and try again."),
        },
        Guard.MAIL_NOT_CONFIRMED: {
            "title": _("Confirm your e-mail address first"),
            "detail": _("Only accounts with a confirmed address can take part in this sale. See My account."),
        },
        Guard.ACCOUNT_TOO_NEW: {
            "title": _("Your account is too new"),
            "detail": _("Only older accounts can take part in this sale."),
        },
        Guard.TOO_MANY_ACCOUNTS: {
            "title": _("Too many accounts"),
            "detail": _(
                "Other accounts have taken part in this sale from your internet connection or your browser. "
                "With one of them you can go on."
            ),
        },
    }
