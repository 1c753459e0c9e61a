"""Clients that call a function before each command, which may wait there or end the process."""

from collections.abc import Callable
from typing import Any

import psycopg
from redis import ConnectionPool, Redis
from redis.client import Pipeline

# Called with the command's name and arguments before anything is sent.
Step = Callable[[tuple[Any, ...]], None]


class SteppedStore(Redis):
    """Calls `step` before each command."""

    step: Step

    @classmethod
    def at(cls, url: str, step: Step, **options: Any) -> "SteppedStore":
        client = cls(connection_pool=ConnectionPool.from_url(url, **options))
        client.step = step
        return client

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self.step(args)
        return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> "SteppedPipeline":
        pipeline = SteppedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipeline.step = self.step
        return pipeline


class SteppedPipeline(Pipeline):
    """Calls `step` before each command that is sent at once (WATCH, and reads after it) and before EXEC."""

    step: Step

    def immediate_execute_command(self, *args: Any, **options: Any) -> Any:
        self.step(args)
        return super().immediate_execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        self.step(("EXEC", *(command[0][0] for command in self.command_stack)))
        return super().execute(raise_on_error)


class SteppedConnection(psycopg.Connection[Any]):
    """A connection to PostgreSQL that calls `step` before each statement and before COMMIT."""

    step: Step

    @classmethod
    def at(cls, url: str, step: Step) -> "SteppedConnection":
        connection = cls.connect(url)
        connection.step = step
        connection.cursor_factory = SteppedCursor
        return connection

    def commit(self) -> None:
        self.step(("COMMIT",))
        super().commit()


class SteppedCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> "SteppedCursor":
        connection = self.connection
        if isinstance(connection, SteppedConnection):
            connection.step((query, params))
        super().execute(query, params, **options)
        return self
