"""One buyer's journey: reserve, perhaps again, check the reservation, and then pay, cancel or let it expire."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.faults.payer import Retry, cancel, known, pay
from bench.faults.wire.http_client import Answer, BuyerClient

# After these answers another attempt may succeed.
WORTH_RETRYING = {"paused", "not_open", "held_by_others", "too_few_left", "pass_expired"}


class FinalStep(StrEnum):
    """How the buyer goes on with the reservation."""

    PAY = "pay"
    CANCEL = "cancel"
    LET_EXPIRE = "let_expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How one buyer behaves. `arrives_after_seconds` counts from the first buyer, `decides_after_seconds` from the yes.

    `retry_seconds_max` is how long the buyer repeats a call whose answer is unknown, or waits for units to come back;
    `delivery` is how the payment company notifies the shop.
    """

    units: int
    arrives_after_seconds: float
    decides_after_seconds: float
    final_step: FinalStep
    repeats: bool
    checks_reservation: bool
    retry_seconds_max: float
    delivery: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many buyers arrive within how many seconds, for how many units each, and how long they retry.

    `deliveries` are the ways in which the payment company notifies the shop. `shoppers` are as many more, who buy in
    the ordinary shop.
    """

    buyers: int = 60
    shoppers: int = 0
    arrival_seconds: float = 5.0
    units_max: int = 2
    retry_seconds_max: float = 6.0
    deliveries: Sequence[str] = ("once",)


def behaviour_from(demand: Demand, rng: random.Random) -> Behaviour:
    """Choose a buyer's behaviour: half of them pay, some cancel, the others let it expire."""
    return Behaviour(
        units=rng.randint(1, demand.units_max),
        arrives_after_seconds=rng.uniform(0, demand.arrival_seconds),
        decides_after_seconds=rng.uniform(0, 1.5),
        final_step=rng.choices(list(FinalStep), weights=[5, 2, 3])[0],
        repeats=rng.random() < 0.3,
        checks_reservation=rng.random() < 0.5,
        retry_seconds_max=demand.retry_seconds_max,
        delivery=rng.choice(demand.deliveries),
    )


def journey(
    client: BuyerClient, behaviour: Behaviour, *, item_id: int, started_s: float, stop: threading.Event
) -> None:
    """The whole journey. It ends early when `stop` is set."""
    if stop.wait(max(0.0, started_s + behaviour.arrives_after_seconds - time.monotonic())):
        return
    yes = reserve_until_known(client, behaviour, item_id=item_id, stop=stop)
    if yes is None:
        return
    if behaviour.repeats:
        client.reserve(item_id=item_id, units=behaviour.units, attempt=1)
    if behaviour.checks_reservation:
        client.get_reservation()
    if stop.wait(behaviour.decides_after_seconds):
        return
    retry = Retry(seconds=behaviour.retry_seconds_max, stop=stop)
    if behaviour.final_step is FinalStep.PAY:
        pay(client, retry=retry, delivery=behaviour.delivery)
    elif behaviour.final_step is FinalStep.CANCEL:
        cancel(client, retry=retry)


def reserve_until_known(
    client: BuyerClient, behaviour: Behaviour, *, item_id: int, stop: threading.Event
) -> Answer | None:
    """The yes, or None if refused for good or out of time. The same pass each time, so no attempt counts twice."""
    retry = Retry(seconds=behaviour.retry_seconds_max, stop=stop)
    answer = retry.until(
        lambda answer: known(answer) and answer.outcome not in WORTH_RETRYING,
        lambda attempt: client.reserve(item_id=item_id, units=behaviour.units, attempt=attempt),
    )
    return answer if answer and answer.status == 201 else None
