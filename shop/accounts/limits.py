"""How often accounts are made and new passwords asked for. Counted before anything is looked up.

So an answer never depends on whether there is an account, and the shop cannot be made to fill a stranger's mailbox.
"""

from hashlib import sha256

from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.http import HttpRequest

from shop.accounts.client_limits import take_of_client
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached, take

SIGN_UP = "sign_up"
RESET_BY_ADDRESS = "password_reset_by_address"
RESET_BY_MAILBOX = "password_reset_by_mailbox"


def count_sign_up(request: HttpRequest) -> None:
    """Each form that is sent counts, also one with errors: they say which user names are taken.

    By network and, for a browser that has signed in before, by device. Raises ImmediateHttpResponse with 429.
    """
    rate = settings.SIGN_UP_LIMIT
    try:
        take_of_client(request, action=SIGN_UP, by_network=rate, by_device=rate)
    except LimitReached as error:
        raise ImmediateHttpResponse(limit_reached(request, error)) from error


def count_password_reset(request: HttpRequest, *, mailbox: str) -> None:
    """Raises ImmediateHttpResponse with 429."""
    by_address = settings.PASSWORD_RESET_LIMIT_BY_ADDRESS
    take_or_answer(request, action=RESET_BY_ADDRESS, rate=by_address, key=client_network(request))
    mailbox_key = sha256(mailbox.strip().lower().encode()).hexdigest()
    by_mailbox = settings.PASSWORD_RESET_LIMIT_BY_MAILBOX
    take_or_answer(request, action=RESET_BY_MAILBOX, rate=by_mailbox, key=mailbox_key)


def take_or_answer(request: HttpRequest, *, action: str, rate: str, key: str) -> None:
    try:
        take(action=action, rate=rate, key=key)
    except LimitReached as error:
        raise ImmediateHttpResponse(limit_reached(request, error)) from error
