"""The shop's own Celery tasks. Those of orders are in orders/tasks.py."""

from shop.background.queued_tasks import queued_task, sweep
from shop.demo.drawings import draw_some_pictures
from shop.pictures.orphan_files import sweep_files

# Pictures take seconds, and are as little urgent as mails.
QUEUE = "mail"


@sweep(queue=QUEUE, every_seconds=24 * 3600.0)
def sweep_pictures() -> int:
    """Remove files of pictures that are no longer used."""
    return sweep_files()


@queued_task(queue=QUEUE)
def draw_demo_pictures() -> None:
    """Some of them, and again until all are there: a task may take a minute."""
    if draw_some_pictures():
        draw_demo_pictures.delay()
