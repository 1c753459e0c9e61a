"""One buyer's way through the ordinary shop: cart, checkout, perhaps the checkout again, and then pay, cancel or leave.

The same behaviour as in a sale (`buyer_journey`), and the same rule: a call whose answer is unknown is repeated.
"""

import random
import threading
import time
from collections.abc import Mapping, Sequence

from bench.faults.buyer_journey import Behaviour, FinalStep
from bench.faults.payer import Retry, known, pay_order
from bench.faults.shopping.shopper_client import ShopperClient
from bench.faults.wire.http_client import Answer

# The first call with the key is still under way.
RUNNING = "idempotency_key_running"


def choose_units(behaviour: Behaviour, *, skus: Sequence[str], rng: random.Random) -> dict[str, int]:
    """The goods this buyer wants: one product or two, in any order, of each as many units as the behaviour says."""
    return dict.fromkeys(rng.sample(list(skus), min(len(skus), rng.randint(1, 2))), behaviour.units)


def shopping_trip(
    client: ShopperClient, behaviour: Behaviour, *, units_of: Mapping[str, int], started_s: float, stop: threading.Event
) -> None:
    """The whole trip. It ends early when `stop` is set. An order that is left is never paid."""
    if stop.wait(max(0.0, started_s + behaviour.arrives_after_seconds - time.monotonic())):
        return
    yes = order_until_known(client, units_of=units_of, retry_seconds_max=behaviour.retry_seconds_max, stop=stop)
    if yes is None or yes.status != 201:
        return
    number = str(yes.body["number"])
    if behaviour.repeats:
        client.check_out(units=sum(units_of.values()), attempt=1)
    if stop.wait(behaviour.decides_after_seconds):
        return
    retry = Retry(seconds=behaviour.retry_seconds_max, stop=stop)
    if behaviour.final_step is FinalStep.PAY:
        pay_order(client, number=number, retry=retry, delivery=behaviour.delivery)
    elif behaviour.final_step is FinalStep.CANCEL:
        retry.until(known, lambda attempt: client.cancel(number=number, attempt=attempt))


def order_until_known(
    client: ShopperClient, *, units_of: Mapping[str, int], retry_seconds_max: float, stop: threading.Event
) -> Answer | None:
    """The shop's answer to the checkout; None if the cart could not be filled, or the answer stayed unknown."""
    retry = Retry(seconds=retry_seconds_max, stop=stop)
    cart = retry.until(known, lambda attempt: client.fill_cart(units_of=units_of, attempt=attempt))
    if cart is None or cart.status != 200:
        return None
    return retry.until(
        lambda answer: known(answer) and answer.outcome != RUNNING,
        lambda attempt: client.check_out(units=sum(units_of.values()), attempt=attempt),
    )
