"""The lock of an item works across connections, and ends with the connection that holds it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from seckill.items.lock import item_lock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def elsewhere() -> Iterator[ThreadPoolExecutor]:
    """A thread, and so another connection."""
    with ThreadPoolExecutor(1) as thread:
        yield thread
        thread.submit(lambda: connection.close()).result()


def is_free(item_id: int) -> bool:
    with item_lock(item_id=item_id, wait=False) as acquired:
        return acquired


def test_a_locked_item_is_locked_for_other_connections_and_no_other_item_is(elsewhere: ThreadPoolExecutor) -> None:
    with item_lock(item_id=7) as acquired:
        assert acquired
        assert not elsewhere.submit(is_free, 7).result()
        assert elsewhere.submit(is_free, 8).result()
        assert is_free(7)
        assert not elsewhere.submit(is_free, 7).result()
    assert elsewhere.submit(is_free, 7).result()


def test_a_free_lock_takes_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(2), item_lock(item_id=7):
        pass


def test_a_waiter_acquires_the_lock_next(elsewhere: ThreadPoolExecutor) -> None:
    asking = threading.Event()

    def wait(seconds: bool | float) -> bool:
        asking.set()
        with item_lock(item_id=7, wait=seconds) as acquired:
            return acquired

    for seconds in (True, 60):
        asking.clear()
        with item_lock(item_id=7):
            waiting = elsewhere.submit(wait, seconds)
            asking.wait()
        assert waiting.result()
    with item_lock(item_id=7):
        assert not elsewhere.submit(wait, 0.05).result()


def test_a_waiter_for_an_item_is_more_patient_than_one_for_a_row(elsewhere: ThreadPoolExecutor) -> None:
    def wait() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
            with item_lock(item_id=7):
                cursor.execute("SHOW lock_timeout")
                return str(cursor.fetchone()[0])

    with item_lock(item_id=7):
        waiting = elsewhere.submit(wait)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.3)")
    assert waiting.result() == "50ms"


def test_an_error_releases_the_lock(elsewhere: ThreadPoolExecutor) -> None:
    with pytest.raises(ValueError, match="mine"), item_lock(item_id=7):
        raise ValueError("mine")
    assert elsewhere.submit(is_free, 7).result()


def test_the_lock_is_released_with_its_connection(elsewhere: ThreadPoolExecutor) -> None:
    with item_lock(item_id=7):
        pid = connection.connection.info.backend_pid
        elsewhere.submit(end_backend, pid).result()
        assert elsewhere.submit(is_free, 7).result()
    assert elsewhere.submit(is_free, 7).result()


def end_backend(pid: int) -> None:
    with connection.cursor() as cursor:
        # Waits until the backend is gone, 10 s at most.
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
