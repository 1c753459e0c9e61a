"""Liveness and readiness, for load balancers and for `make run`."""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django_redis import get_redis_connection
from kombu import Connection

from shop.background.bounded_thread import BoundedThread, in_time
from shop.celery import app

# A server that takes longer is away, for people and for alarms. Its clients give up within a second, if they can.
ANSWER_SECONDS = 1.2


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers. Checks no server, so that a broken database does not get healthy processes killed.

    503 while the host leaves: balancers send it no new clients, and it goes on answering every call.
    """
    if settings.DRAIN_FILE and os.path.exists(settings.DRAIN_FILE):
        return JsonResponse({"status": "draining"}, status=503)
    return JsonResponse({"status": "ok"})


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """The answer of each server. 503 if selling cannot go on: without PostgreSQL, the reservation store or the cache.

    Without the broker it goes on: reservations wait in the store until the workers come back. Then the status is
    `degraded`.
    """
    answers = source_answers()
    failed = {name for name, answer in answers.items() if answer != "ok"}
    if failed - {"broker"}:
        return JsonResponse({"status": "unavailable", **answers}, status=503)
    return JsonResponse({"status": "degraded" if failed else "ok", **answers})


def source_answers() -> dict[str, str]:
    """What each server says: `ok`, or the type of the error. All are asked at once, and none is waited for too long."""
    until_s = time.monotonic() + ANSWER_SECONDS
    asked = {name: THREADS[name].begin(ping) for name, ping in SOURCES.items()}
    return {name: result_of(partial(in_time, answer, until_s=until_s)) for name, answer in asked.items()}


def result_of(check: Callable[[], object]) -> str:
    """`ok`, or the type of the error. Its message may contain addresses and passwords."""
    try:
        check()
    except Exception as error:
        return type(error).__name__
    return "ok"


def ping_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def ping_broker() -> None:
    broker: Connection
    with app.connection_for_write(connect_timeout=1) as broker:
        broker.ensure_connection(max_retries=1, timeout=1)


def info_of(alias: str) -> dict[str, Any]:
    """What the server says of itself. Empty where it does not answer, and of a Cluster, which has several."""
    try:
        return dict(get_redis_connection(alias).info())
    except Exception:
        return {}


# The servers that the shop depends on, by the names that /readyz and /metrics give them.
SOURCES: dict[str, Callable[[], object]] = {
    "database": ping_database,
    "reservation_store": lambda: get_redis_connection("seckill").ping(),
    "cache": lambda: caches["default"].get("readyz"),
    "broker": ping_broker,
}
# For each server one thread of this process, in which it is asked.
THREADS = {name: BoundedThread(name=f"ask-{name}") for name in SOURCES}
