"""The shop's own Celery tasks. Those of orders are in orders/tasks.py."""

from celery import shared_task

from shop.demo.loading import draw_some_pictures
from shop.pictures.orphan_files import sweep_files


@shared_task
def sweep_pictures() -> None:
    sweep_files()


@shared_task
def draw_demo_pictures() -> None:
    """Some of them, and again until all are there: a task may take a minute."""
    if draw_some_pictures():
        draw_demo_pictures.delay()
