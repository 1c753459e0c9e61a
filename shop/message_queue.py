"""How many messages wait in a queue of the broker, so that nobody adds to a queue that no worker empties.

An expiry does not bound a queue: the broker keeps an expired message until a worker takes it.
"""

from typing import Any

from celery import Celery


def messages_waiting(app: Celery, queue: str) -> int:
    """The length of the queue, which is created if it does not exist. Raises what the broker's client raises."""
    connection: Any
    with app.pool.acquire(block=True) as connection:
        # kombu is annotated as if this were a name.
        declared: Any = app.amqp.queues[queue](connection.default_channel).queue_declare()
        return int(declared.message_count)
