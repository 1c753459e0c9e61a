"""Waits until replicas have a reservation before the buyer is told: a yes then survives the loss of the primary.

WAIT counts from the last write of its own connection. So the call and its WAIT go over one connection, and where the
call has only read something that another connection wrote, a write of our own comes in between.

Idea and limits: https://valkey.io/commands/wait/. A yes survives the loss of the primary; not that of the primary and
all replicas that were waited for, nor a takeover that was forced on a replica without it.
"""

from typing import Any

from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from seckill.store.keys import barrier_key
from seckill.store.yes_replicas import yes_replicas

# The key of `wait_for_what_was_read` has no use once WAIT has answered.
KEY_LIFE_MS = 1_000


class TooFewReplicas(RedisError):
    """Fewer replicas than a yes waits for have confirmed in time. The write may survive or not."""


class PinnedConnection:
    """`with PinnedConnection(client) as connection`: one connection of the client's pool, for several commands.

    It is closed where an answer may still come. A class, since each reservation passes here and a generator costs more.
    """

    __slots__ = ("_connection", "_pool")

    def __init__(self, client: Redis) -> None:
        self._pool = client.connection_pool

    def __enter__(self) -> Any:
        self._connection: Any = self._pool.get_connection()
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        # After an error that the server itself has sent, no other answer is on its way. After any other error a late
        # answer may come, and the next user of this connection must not read it.
        if error is not None and not isinstance(error, ResponseError):
            self._connection.disconnect()
        self._pool.release(self._connection)


def wait_for_replicas(connection: Any) -> None:
    """Until `yes_replicas` replicas have the last write of this connection. Raises TooFewReplicas."""
    wanted = yes_replicas()
    if not wanted:
        return
    connection.send_command("WAIT", wanted, settings.SECKILL_YES_WAIT_MS)
    confirmed = int(connection.read_response())
    if confirmed < wanted:
        raise TooFewReplicas(f"{confirmed} of {wanted} replicas have confirmed")


def wait_for_what_was_read(connection: Any, *, item_id: int) -> None:
    """Until as many replicas have everything that this connection has read of the item. Raises TooFewReplicas."""
    if not yes_replicas():
        return
    connection.send_command("SET", barrier_key(item_id), "", "PX", KEY_LIFE_MS)
    connection.read_response()
    wait_for_replicas(connection)
