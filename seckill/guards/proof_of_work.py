"""Proof of work for a pass, in the form of ALTCHA (altcha.org, version 2): a client computes before it may ask.

A challenge is signed and stored nowhere. It names its buyer and its sale, so a proof is of no use to anybody else. The
solution is one number of which the client must try about `work` to find it; the shop checks two HMACs and no database.
Each proof is good for one pass: its nonce is taken once, in one step of the cache server. For a place in a waiting
room it need not be taken: an account has one place there.
"""

import secrets
import time
from enum import StrEnum
from typing import Any

from altcha import Payload, create_challenge, verify_solution

from shop.configuration.quick_setting import secret_keys
from shop.http.rate_limits import Limit, LimitReached, distinct, forget, take

# Browsers compute this natively (WebCrypto), so a phone is not far behind a server.
ALGORITHM = "PBKDF2/SHA-256"
# Iterations of one try. The shop makes one try for each challenge, in a third of a millisecond.
ITERATIONS = 1000
# So many numbers a client tries on average: some seconds on a phone.
TRIES = 2000
# A challenge that is fetched when passes can first be had is still good at the opening.
LIFE_SECONDS = 1200
# No client must compute longer than so many times the usual work, whatever the demand.
FACTOR_MAX = 16
# So many accounts that ask in a minute double the work of a sale; so many of one network in ten minutes double it too.
SALE_DOUBLES_AT = 2_000
NETWORK_DOUBLES_AT = 10
# More is not counted, since the factor has its bound long before.
SALE_RATE = "1000000/minute"
NETWORK_RATE = "100000/10minutes"
# Longer than a challenge lives: a proof that was taken stays taken.
USED_RATE = "1/30minutes"
# A proof is some 600 characters. Longer ones are not decoded.
LENGTH_MAX = 2_000


class Proof(StrEnum):
    """The result of checking a proof."""

    WRONG = "wrong"
    EXPIRED = "expired"
    ACCEPTED = "accepted"


def new_challenge(*, sale_id: int, buyer_id: int, network: str) -> dict[str, Any]:
    """A challenge for a buyer, in ALTCHA's form. The more accounts ask, the more work it is."""
    tries_max = 2 * work_for(sale_id=sale_id, buyer_id=buyer_id, network=network)
    challenge = create_challenge(
        ALGORITHM,
        ITERATIONS,
        # Any number below, not only large ones: nobody may begin in the middle.
        counter=secrets.randbelow(tries_max),
        expires_at=int(time.time()) + LIFE_SECONDS,
        data={"sale": sale_id, "buyer": buyer_id},
        hmac_secret=keys()[0],
        hmac_key_secret=keys()[0],
    )
    return challenge.to_dict()


def work_for(*, sale_id: int, buyer_id: int, network: str) -> int:
    """How many numbers a client must try on average. Counts this account, once in each window however often it asks:

    asking costs nothing, so few accounts that ask all the time must not make it harder for everybody. The counts are
    estimates (`distinct`), right to a few hundredths.
    """
    of_sale, of_network = distinct(
        str(buyer_id),
        Limit("proof_by_sale", SALE_RATE, str(sale_id)),
        Limit("proof_by_network", NETWORK_RATE, f"{network}:{sale_id}"),
    )
    factor = (1 + of_sale / SALE_DOUBLES_AT) * (1 + of_network / NETWORK_DOUBLES_AT)
    return int(TRIES * min(factor, FACTOR_MAX))


def read(text: str) -> Payload | None:
    """The proof in `text`, not checked yet; None if it has not the form of one."""
    if len(text) > LENGTH_MAX:
        return None
    try:
        return Payload.from_base64(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def check(proof: Payload | None, *, sale_id: int, buyer_id: int) -> Proof:
    """Check the proof. It may have been used before, which `use` finds out."""
    if proof is None:
        return Proof.WRONG
    for key in keys():
        found = verify_solution(proof, key, hmac_key_secret=key)
        if found.expired:
            return Proof.EXPIRED
        if found.verified:
            its_own = proof.challenge.parameters.data == {"sale": sale_id, "buyer": buyer_id}
            return Proof.ACCEPTED if its_own else Proof.WRONG
    return Proof.WRONG


def use(proof: Payload) -> bool:
    """Take a proof that was checked. False if it was taken before: of many calls at once, one gets it."""
    try:
        take(action="proof_used", rate=USED_RATE, key=proof.challenge.parameters.nonce)
    except LimitReached:
        return False
    return True


def give_back(proof: Payload) -> None:
    """Of a call that has taken it and got no pass: the buyer can use it again."""
    forget(action="proof_used", rate=USED_RATE, key=proof.challenge.parameters.nonce)


def keys() -> list[str]:
    """The current key, then the fallback keys."""
    return [f"seckill.proof_of_work:{secret}" for secret in secret_keys()]
