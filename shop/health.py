"""Liveness and readiness, for load balancers and for `make run`."""

from collections.abc import Callable

from django.core.cache import caches
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django_redis import get_redis_connection
from kombu import Connection

from shop.celery import app


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers. Checks no server, so that a broken database does not get healthy processes killed."""
    return JsonResponse({"status": "ok"})


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if PostgreSQL, the reservation store, the cache and the broker answer; otherwise 503 and what failed."""
    checks: dict[str, Callable[[], object]] = {
        "database": ping_database,
        "reservation_store": lambda: get_redis_connection("seckill").ping(),
        "cache": lambda: caches["default"].get("readyz"),
        "broker": ping_broker,
    }
    answers = {name: result_of(check) for name, check in checks.items()}
    ready = all(answer == "ok" for answer in answers.values())
    return JsonResponse({"status": "ok" if ready else "unavailable", **answers}, status=200 if ready else 503)


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
