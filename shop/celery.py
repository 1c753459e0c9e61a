"""The Celery application. Tasks live in `orders/tasks.py`; routes, schedule and limits in `shop/settings.py`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")

app = Celery("stampede")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
