"""A packed call: the bytes are right, and no call ever reads the reply to another one."""

import threading
from typing import Any
from unittest import mock

import pytest
from django_redis import get_redis_connection
from redis.connection import Connection

from seckill.outcomes import Outcome
from seckill.store.barrier import PinnedConnection
from seckill.store.client import StoreUnreachable
from seckill.store.failures import Cause
from seckill.store.scripts import Script, packed
from tests.processes import wait_until
from tests.seckill.checked_item import CheckedItem
from tests.steps.pipelines import frozen
from tests.steps.store import store_answers

ECHO = Script("echo", "return {KEYS[1], KEYS[2] or '', ARGV[1], ARGV[2] or '', tostring(#KEYS), tostring(#ARGV)}")


@pytest.mark.parametrize("keys", [("a",), ("a", "ключ")])
@pytest.mark.parametrize("args", [(7,), ("", "票\r\n$1\r\nx")])
def test_a_script_gets_what_it_was_given(item: CheckedItem, keys: tuple[str, ...], args: tuple[int | str, ...]) -> None:
    client = get_redis_connection("seckill")
    expected = ECHO.run(client, keys=keys, args=args)
    assert expected[:4] == [keys[0], keys[-1] if len(keys) > 1 else "", str(args[0]), str(args[1]) if args[1:] else ""]
    for _ in range(2):
        with PinnedConnection(client) as connection:
            assert ECHO.run_packed(connection, keys=keys, args=args) == expected


def test_the_length_of_a_word_is_that_of_its_bytes() -> None:
    assert packed("票") == b"$3\r\n\xe7\xa5\xa8\r\n"


def test_a_script_that_the_store_does_not_have_is_loaded(item: CheckedItem) -> None:
    client = get_redis_connection("seckill")
    item.client.script_flush()
    before = item.store.calls().get("eval", 0)
    for _ in range(3):
        with PinnedConnection(client) as connection:
            assert ECHO.run_packed(connection, keys=("a",), args=("b",))[0] == "a"
    assert item.store.calls()["eval"] == before + 1


def test_a_reply_that_comes_too_late_is_not_given_to_the_next_call(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    item.held(buyer=9)
    with item.unguarded():
        with frozen(item.store), pytest.raises(StoreUnreachable) as raised:
            item.reserve(buyer=7, units=1)
        assert raised.value.cause is Cause.TIMEOUT
        wait_until(store_answers, seconds_max=5)
        assert item.reserve(buyer=8, units=2).units == 2


def test_a_call_that_was_interrupted_leaves_no_reply_behind(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    item.held(buyer=9)
    read_response = Connection.read_response

    def interrupted(connection: Connection, *args: Any, **options: Any) -> Any:
        # A thread that writes counts to the cache server at this moment goes on.
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return read_response(connection, *args, **options)

    with (
        item.unguarded(),
        mock.patch.object(Connection, "read_response", interrupted),
        pytest.raises(KeyboardInterrupt),
    ):
        item.reserve(buyer=7, units=1)
    with mock.patch.object(Connection, "can_read", return_value=False):
        assert item.reserve(buyer=8, units=2).units == 2


def test_after_an_error_the_connection_is_used_again(item: CheckedItem) -> None:
    item.publish(per_buyer_max=5)
    item.held(buyer=9)
    before: Any = item.client.info("stats")["total_connections_received"]
    with pytest.raises(StoreUnreachable, match="units are whole"):
        item.reserve(units=0)
    assert item.reserve(buyer=8).outcome == Outcome.RESERVED
    assert item.client.info("stats")["total_connections_received"] == before
