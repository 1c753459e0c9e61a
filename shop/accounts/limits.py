"""How often a client may try something, for example to make accounts. Counted before anything is looked up.

So an answer never depends on whether there is an account, and the shop cannot be made to fill a stranger's mailbox.
"""

from hashlib import sha256

from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.http import HttpRequest

from shop.accounts.known_places import device_of
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached, take

SIGN_UP = "sign_up"
RESET_BY_ADDRESS = "password_reset_by_address"
RESET_BY_MAILBOX = "password_reset_by_mailbox"


def take_of_client(
    request: HttpRequest,
    *,
    action: str,
    account: object = None,
    by_account: str = "",
    by_network: str = "",
    by_device: str = "",
    about: object = "",
) -> None:
    """Count one attempt by all that is known of the client. Raises LimitReached.

    Each of the three has its own rate, and does not count without one. A network is the address, of IPv6 its /64. A
    device has a signed cookie of its last sign-in; programs have none. `about` is what has counts of its own, for
    example an item.
    """
    if by_account and account is not None:
        take(action=action, rate=by_account, key=f"{account}:{about}")
    if by_network:
        take(action=f"{action}_by_network", rate=by_network, key=f"{client_network(request)}:{about}")
    if by_device and (device := device_of(request)):
        take(action=f"{action}_by_device", rate=by_device, key=f"{device}:{about}")


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
