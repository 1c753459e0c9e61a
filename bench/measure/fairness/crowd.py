"""Who wants the units: honest buyers with an account each, and one script with some accounts.

An honest buyer presses the button after a human time: two seconds in the median, of ten buyers one under one second.
Three of ten share a network with nineteen others, and one of ten has an account of yesterday. All accounts of the
script are of yesterday. The script does everything at once, as soon as it can be done.

Where a pass needs a proof, everybody computes while they wait: an honest buyer on a device of their own, the script on
one core for all of its accounts. It asks for its challenges first, and comes too late with what is not computed when
the sale opens.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from altcha import Challenge, solve_challenge
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from bench.load_buyers import load_buyer_ids
from seckill.guards import pass_guards, proof_of_work
from seckill.guards.pass_guards import GuardedCall, GuardRefused
from seckill.models import Sale

# Of the logarithm of seconds: exp(0.7) are two seconds.
REACTION_MEAN, REACTION_DEVIATION = 0.7, 0.55
SHARING, NETWORK_SIZE = 0.3, 20
NEW = 0.1
# So many proofs are computed to measure what one try costs.
PROOFS_MEASURED = 5


@dataclass(frozen=True, slots=True)
class Rule:
    """`fields` are those of the sale. The script's calls come from `networks` networks."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    networks: int = 1


RULES = (
    Rule("none"),
    Rule("proof of work", {"proof_of_work": True}),
    Rule("5 accounts of a network", {"accounts_per_network": 5}),
    Rule("the same, script with 20 networks", {"accounts_per_network": 5}, networks=20),
    Rule("accounts of a week or older", {"account_age_hours": 168}),
)


@dataclass(frozen=True, slots=True)
class Buyer:
    account_id: int
    network: str
    is_script: bool


@dataclass(slots=True)
class Crowd:
    """The buyers of one run, and what became of their calls for passes or entries.

    `script_seconds` and `honest_seconds` are of a processor, for the proofs of all of them.
    """

    honest: Sequence[Buyer]
    script: Sequence[Buyer]
    rule: Rule
    chance: Random
    try_seconds: float
    asked_honest: int = 0
    refused_honest: int = 0
    script_seconds: float = 0.0
    honest_seconds: float = 0.0

    def may_take_part(self, buyer: Buyer, *, sale: Sale) -> bool:
        """Whether the real rules let the account have a pass, or enter, and its proof is ready."""
        if sale.proof_of_work and not self.compute(buyer, sale=sale):
            return False
        call = GuardedCall(sale=sale, buyer_id=buyer.account_id, network=buyer.network, device="")
        self.asked_honest += not buyer.is_script
        try:
            pass_guards.check_entry(call)
        except GuardRefused:
            self.refused_honest += not buyer.is_script
            return False
        return True

    def compute(self, buyer: Buyer, *, sale: Sale) -> bool:
        """Whether the proof is ready when the sale opens. The work is what the shop asks; its tries are by chance."""
        if buyer.is_script and self.script_seconds >= settings.SECKILL_PASS_LEAD_SECONDS:
            return False
        work = proof_of_work.work_for(sale_id=sale.pk, buyer_id=buyer.account_id, network=buyer.network)
        seconds = self.try_seconds * (1 + self.chance.randrange(2 * work))
        if buyer.is_script:
            self.script_seconds += seconds
        else:
            self.honest_seconds += seconds
        return True

    def shuffled(self) -> list[Buyer]:
        """The script first, then the honest buyers by chance."""
        return [*self.script, *self.chance.sample(self.honest, len(self.honest))]

    def by_reaction(self) -> list[Buyer]:
        """In the order in which they call once the sale is open."""
        times = {
            buyer.account_id: self.chance.lognormvariate(REACTION_MEAN, REACTION_DEVIATION) for buyer in self.honest
        }
        return sorted([*self.script, *self.honest], key=lambda buyer: times.get(buyer.account_id, 0.0))


@dataclass(frozen=True, slots=True)
class People:
    """The accounts that all runs share, and what one try of a proof costs."""

    honest_ids: Sequence[int]
    script_ids: Sequence[int]
    try_seconds: float

    def crowd(self, *, accounts: int, rule: Rule, chance: Random) -> Crowd:
        sharing = round(SHARING * len(self.honest_ids))
        honest = [
            Buyer(pk, f"office {number // NETWORK_SIZE}" if number < sharing else f"home {number}", False)
            for number, pk in enumerate(self.honest_ids)
        ]
        script = [
            Buyer(pk, f"script {number % rule.networks}", True) for number, pk in enumerate(self.script_ids[:accounts])
        ]
        return Crowd(honest, script, rule, chance, self.try_seconds)


def people(*, honest: int, accounts_max: int, try_seconds: float) -> People:
    """Accounts of load tests, with the days on which they joined."""
    ids = load_buyer_ids(count=honest + accounts_max)
    now, new = timezone.now(), round(NEW * honest)
    # The new ones are spread over offices and homes.
    step = max(honest // max(new, 1), 1)
    young = [*ids[:honest:step][:new], *ids[honest:]]
    User.objects.filter(pk__in=ids).update(date_joined=now - timedelta(days=400))
    User.objects.filter(pk__in=young).update(date_joined=now - timedelta(days=1))
    return People(ids[:honest], ids[honest:], try_seconds)


def measure_try_seconds() -> float:
    """Processor time of one try on one core, by proofs that ALTCHA's solver computes."""
    tries, began_s = 0, time.process_time()
    for buyer_id in range(1, PROOFS_MEASURED + 1):
        challenge = proof_of_work.new_challenge(sale_id=0, buyer_id=buyer_id, network=f"measured {buyer_id}")
        solution = solve_challenge(Challenge.from_dict(challenge))
        assert solution is not None
        tries += solution.counter + 1
    return (time.process_time() - began_s) / tries
