"""The choice to tell buyers yes with fewer replicas than SECKILL_YES_REPLICAS, while one is lost; with its journal.

Without the choice, the loss of a replica stops the sales of its primary, and the environment of each web process would
have to be changed to go on. The row is the truth, the copy in the cache server is what processes read, and a sweep
repeats the copy.
"""

from seckill.models import ReplicaChoice
from seckill.store.yes_replicas import publish
from shop.background.outages import AWAY, go_on, wait

WORK = "replica_choice"


def choose(*, replicas: int | None, reason: str) -> ReplicaChoice:
    """A yes waits for so many replicas from now on; None: for as many as the setting says.

    Processes follow within seconds. Raises ValidationError.
    """
    choice = ReplicaChoice(replicas=replicas, reason=reason)
    choice.full_clean()
    choice.save()
    repeat_choice()
    return choice


def repeat_choice() -> None:
    """Give all processes the last choice, as far as the cache server answers."""
    last = ReplicaChoice.objects.order_by("-pk").first()
    if last is None:
        return
    try:
        publish(last.replicas)
    except AWAY as error:
        wait(WORK, error)
    else:
        go_on(WORK)
