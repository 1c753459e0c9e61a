"""The Celery application. Each app has its tasks in `tasks.py`, with queues and intervals."""

import os
from typing import Any

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
# Django's checks would import all pages into each worker and beat. `manage.py check --deploy` runs them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("stampede")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# Only workers and beat import these modules, after all tasks.
app.conf.imports = ("shop.background.worker_words", "shop.background.worker_memory")
app.steps["consumer"].add("shop.background.worker_heartbeat:HeartbeatStep")


def messages_waiting(app: Celery, queue: str) -> int:
    """The length of a queue, which is created if it does not exist. Raises the errors of the broker's client.

    Look at it before sending a message that can be left out. An expiry does not bound a queue: the broker keeps an
    expired message until a worker takes it.
    """
    connection: Any
    with app.pool.acquire(block=True) as connection:
        return queue_length(app, queue, connection=connection)


def queue_length(app: Celery, queue: str, *, connection: Any) -> int:
    """`messages_waiting`, by a connection that the caller has."""
    # kombu is annotated as if this were a name.
    declared: Any = app.amqp.queues[queue](connection.default_channel).queue_declare()
    return int(declared.message_count)
