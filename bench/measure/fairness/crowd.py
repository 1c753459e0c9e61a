"""Who wants the units: honest buyers with an account each, and one script with some accounts.

An honest buyer presses the button after a human time: two seconds in the median, of ten buyers one under one second.
Three of ten share a network with nineteen others, and one of ten has an account of yesterday. All accounts of the
script are of yesterday. The script does everything at once, as soon as it can be done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

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
# One try of a proof on one core of a server (seckill/guards/proof_of_work.py).
TRY_SECONDS = 0.00035


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
    """The buyers of one run, and what became of their calls for passes or entries."""

    honest: Sequence[Buyer]
    script: Sequence[Buyer]
    rule: Rule
    chance: Random
    asked_honest: int = 0
    refused_honest: int = 0
    script_seconds: float = 0.0

    def may_take_part(self, buyer: Buyer, *, sale: Sale) -> bool:
        """Whether the real rules let the account have a pass, or enter. Of a proof only the tries are counted."""
        if sale.proof_of_work and buyer.is_script:
            work = proof_of_work.work_for(sale_id=sale.pk, network=buyer.network)
            self.script_seconds += TRY_SECONDS * (1 + self.chance.randrange(2 * work))
        call = GuardedCall(sale=sale, buyer_id=buyer.account_id, network=buyer.network, device="")
        self.asked_honest += not buyer.is_script
        try:
            pass_guards.check_entry(call)
        except GuardRefused:
            self.refused_honest += not buyer.is_script
            return False
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
    """The accounts that all runs share."""

    honest_ids: Sequence[int]
    script_ids: Sequence[int]

    def crowd(self, *, accounts: int, rule: Rule, chance: Random) -> Crowd:
        sharing = round(SHARING * len(self.honest_ids))
        honest = [
            Buyer(pk, f"office {number // NETWORK_SIZE}" if number < sharing else f"home {number}", False)
            for number, pk in enumerate(self.honest_ids)
        ]
        script = [
            Buyer(pk, f"script {number % rule.networks}", True) for number, pk in enumerate(self.script_ids[:accounts])
        ]
        return Crowd(honest, script, rule, chance)


def people(*, honest: int, accounts_max: int) -> People:
    """Accounts of load tests, with the days on which they joined."""
    ids = load_buyer_ids(count=honest + accounts_max)
    now, new = timezone.now(), round(NEW * honest)
    # The new ones are spread over offices and homes.
    step = max(honest // max(new, 1), 1)
    young = [*ids[:honest:step][:new], *ids[honest:]]
    User.objects.filter(pk__in=ids).update(date_joined=now - timedelta(days=400))
    User.objects.filter(pk__in=young).update(date_joined=now - timedelta(days=1))
    return People(ids[:honest], ids[honest:])
