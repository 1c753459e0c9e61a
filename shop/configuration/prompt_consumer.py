"""The part of a Celery worker that takes messages from RabbitMQ: those that are due now, and no delayed ones.

Where queues are quorum queues, every worker of Celery declares 28 more of them, with as many exchanges, in which
messages with an ETA would wait. No task of the shop has one.
"""

from celery.worker.consumer import Consumer

DELAYED = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


class PromptConsumer(Consumer):
    """Celery's own, without the step that declares queues for delayed messages."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[valid-type,misc]
        default_steps = [step for step in Consumer.Blueprint.default_steps if step != DELAYED]
