"""How often a client may try something, for example to make accounts. Counted before anything is looked up.

So an answer never depends on whether there is an account, and the shop cannot be made to fill a stranger's mailbox.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest

from shop.accounts.known_places import device_of
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import Limit, LimitReached, take, take_all
from shop.mails.outgoing_mail import mailbox_of

SIGN_UP = "sign_up"
RESET_BY_ADDRESS = "password_reset_by_address"
RESET_BY_MAILBOX = "password_reset_by_mailbox"
# Mails about accounts to one mailbox that they have not confirmed, and of one account to such mailboxes: anybody can
# type a stranger's address.
UNCONFIRMED_MAILS = "10/day"


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
    with answered(request):
        take_of_client(request, action=SIGN_UP, by_network=rate, by_device=rate)


def count_password_reset(request: HttpRequest, *, mailbox: str) -> None:
    """Raises ImmediateHttpResponse with 429."""
    mailbox_key = sha256(mailbox.strip().lower().encode()).hexdigest()
    with answered(request):
        take(action=RESET_BY_ADDRESS, rate=settings.PASSWORD_RESET_LIMIT_BY_ADDRESS, key=client_network(request))
        take(action=RESET_BY_MAILBOX, rate=settings.PASSWORD_RESET_LIMIT_BY_MAILBOX, key=mailbox_key)


def may_get_mail(email: str, *, user: User | None, is_former: bool) -> bool:
    """Whether there is room for one more mail about accounts: always at an address that the account has confirmed.

    Others are counted by mailbox, and by account, which could add one stranger's address after the other. A former
    address, to which a change is told, may have been confirmed, and no stranger may use up the room for that mail.
    """
    if EmailAddress.objects.filter(email__iexact=email, user=user, verified=True).exists():
        return True
    account = str(user.pk if user else "")
    limits = [Limit("mail_to_former_address", UNCONFIRMED_MAILS, account)]
    if not is_former:
        mailbox = sha256(mailbox_of(email).encode()).hexdigest()
        limits = [Limit("unconfirmed_mail", UNCONFIRMED_MAILS, mailbox)]
        limits += [Limit("unconfirmed_mail_of_account", UNCONFIRMED_MAILS, account)] if user else []
    try:
        take_all(*limits)
    except LimitReached:
        return False
    return True


@contextmanager
def answered(request: HttpRequest) -> Iterator[None]:
    """A limit that is reached within is answered with 429, in the way of allauth: raises ImmediateHttpResponse."""
    try:
        yield
    except LimitReached as error:
        raise ImmediateHttpResponse(limit_reached(request, error)) from error
