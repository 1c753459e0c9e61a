"""The rules of a sale for a pass, a place in its waiting room, or an entry in its draw. Each is asked here alone.

They are asked before a pass is given, so that reserving costs nothing more, and only for sales that have a rule: those
leave the hot lane (web/reservations/signed_in.py). In a waiting room they are asked before there is a place
too, so that a script with many accounts does not fill the line. The cheap ones come first: a call without a proof
costs no query.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from allauth.account.models import EmailAddress
from altcha import Payload
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils import timezone

from seckill.guards import proof_of_work
from seckill.guards.accounts_of_place import let_in
from seckill.models import Sale
from shop.accounts.known_places import device_of

# A sale may be prolonged; accounts are counted for so long after the end that was known.
KEPT_AFTER_END = timedelta(days=1)


class Guard(StrEnum):
    """Why the rules of a sale refuse a pass, place or entry: the words of the API, in the order of the checks."""

    PROOF_NEEDED = "proof_needed"
    PROOF_REFUSED = "proof_refused"
    MAIL_NOT_CONFIRMED = "mail_not_confirmed"
    ACCOUNT_TOO_NEW = "account_too_new"
    TOO_MANY_ACCOUNTS = "too_many_accounts"


class GuardRefused(Exception):
    """No pass, place or entry by the rules of the sale. `retry_after_seconds` is set where waiting helps."""

    def __init__(self, guard: Guard, *, retry_after_seconds: int | None = None) -> None:
        super().__init__(guard)
        self.guard = guard
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedCall:
    """A call for a pass, place or entry of a sale with rules. `device` is empty where it is not known."""

    sale: Sale
    buyer_id: int
    network: str
    device: str
    proof: str = ""


def guarded_call(
    request: HttpRequest, *, sale: Sale, buyer_id: int, network: str, proof: str = ""
) -> GuardedCall | None:
    """What the rules of the sale must know of the call; None for a sale without rules."""
    if not sale.guards_passes:
        return None
    return GuardedCall(sale=sale, buyer_id=buyer_id, network=network, device=device_of(request), proof=proof)


def check_pass(call: GuardedCall) -> None:
    """Raises GuardRefused by the first rule that the call does not meet. A waiting room had its proof for the place."""
    proof = check_proof(call) if call.sale.proof_of_work and not call.sale.has_room else None
    check_account(sale=call.sale, buyer_id=call.buyer_id)
    if proof is not None and not proof_of_work.use(proof):
        raise GuardRefused(Guard.PROOF_REFUSED)
    # Last, so that an account that another rule refuses is counted nowhere. A proof can be given back, and a place
    # cannot: another call of the same account may count on it.
    try:
        check_places(call)
    except GuardRefused:
        if proof is not None:
            proof_of_work.give_back(proof)
        raise


def check_joining(call: GuardedCall) -> None:
    """The same for a place in a waiting room, for an account that has none.

    The proof is not taken: sent again by its account, it gives the same place. So it is still good for the next call
    when the store fails before there is a place.
    """
    if call.sale.proof_of_work:
        check_proof(call)
    check_account(sale=call.sale, buyer_id=call.buyer_id)
    check_places(call)


def check_entry(call: GuardedCall) -> None:
    """The same for an entry in a draw, without a proof: an entry costs the shop a row, and nobody is faster for one."""
    try:
        check_account(sale=call.sale, buyer_id=call.buyer_id)
    except GuardRefused as error:
        wait = timedelta(seconds=error.retry_after_seconds or 0)
        # The entries close at the opening.
        if timezone.now() + wait < call.sale.opens_at:
            raise
        raise GuardRefused(error.guard) from None
    check_places(call)


def check_proof(call: GuardedCall) -> Payload:
    if not call.proof:
        raise GuardRefused(Guard.PROOF_NEEDED)
    proof = proof_of_work.read(call.proof)
    found = proof_of_work.check(proof, sale_id=call.sale.pk, buyer_id=call.buyer_id)
    if proof is None or found is not proof_of_work.Proof.ACCEPTED:
        raise GuardRefused(Guard.PROOF_REFUSED)
    return proof


def check_account(*, sale: Sale, buyer_id: int) -> None:
    """Confirmed mail and age: asked for a challenge too, so that nobody computes in vain. Raises GuardRefused."""
    if not sale.needs_confirmed_mail and not sale.account_age_hours:
        return
    confirmed = Exists(EmailAddress.objects.filter(user_id=OuterRef("pk"), verified=True))
    joined_at, is_confirmed = User.objects.values_list("date_joined", confirmed).get(pk=buyer_id)
    if sale.needs_confirmed_mail and not is_confirmed:
        raise GuardRefused(Guard.MAIL_NOT_CONFIRMED)
    wait = joined_at + timedelta(hours=sale.account_age_hours or 0) - timezone.now()
    if sale.account_age_hours and wait > timedelta(0):
        raise GuardRefused(Guard.ACCOUNT_TOO_NEW, retry_after_seconds=math.ceil(wait.total_seconds()))


def check_places(call: GuardedCall) -> None:
    sale = call.sale
    # Programs have no cookie: all of one network are one device.
    device = f"device {call.device}" if call.device else f"no device {call.network}"
    places = {f"network {call.network}": sale.accounts_per_network, device: sale.accounts_per_device}
    is_let_in = let_in(
        sale_id=sale.pk,
        places={place: accounts_max for place, accounts_max in places.items() if accounts_max},
        buyer_id=call.buyer_id,
        keep_seconds=int((sale.closes_at + KEPT_AFTER_END - timezone.now()).total_seconds()),
    )
    if not is_let_in:
        raise GuardRefused(Guard.TOO_MANY_ACCOUNTS)
