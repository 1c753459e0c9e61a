"""Clients that call a tracer before each command, where it may wait or end the process, and after each answer."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import psycopg
from redis import Redis
from redis.client import Pipeline, PubSub
from redis.cluster import RedisCluster
from redis.exceptions import RedisError

WAIT = "wait for a message"


class Tracer:
    """What traced clients call. By itself it does nothing."""

    def step(self, args: tuple[Any, ...]) -> None:
        """Called with the name and arguments of a command before it is sent. May wait, or raise."""

    def saw(self, answer: Any) -> None:
        """Called with the answer, or with the error."""

    def connected(self, connection: psycopg.Connection[Any]) -> None:
        """Called with each new connection to the database."""

    def waited(self, seconds: float) -> None:
        """Called when no message came within so many seconds."""

    def trace(self, args: tuple[Any, ...], send: Callable[[], Any]) -> Any:
        self.step(args)
        try:
            answer = send()
        except RedisError as error:
            self.saw(error)
            raise
        self.saw(answer)
        return answer


def traced(kind: Any, tracer: Tracer, url: str, **options: Any) -> Any:
    """A client of this kind, TracedStore or TracedCluster."""
    client = kind.from_url(url, **options)
    client.tracer = tracer
    return client


class TracedStore(Redis):
    tracer: Tracer

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return self.tracer.trace(args, partial(super().execute_command, *args, **options))

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> "TracedPipeline":
        pipeline = TracedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipeline.tracer = self.tracer
        return pipeline


class TracedPipeline(Pipeline):
    """Traces each command that is sent at once (WATCH, and reads after it), and EXEC."""

    tracer: Tracer

    def immediate_execute_command(self, *args: Any, **options: Any) -> Any:
        return self.tracer.trace(args, partial(super().immediate_execute_command, *args, **options))

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        command = ("EXEC", *(command[0][0] for command in self.command_stack))
        answers: list[Any] = self.tracer.trace(command, partial(super().execute, raise_on_error))
        return answers


class SimulatedStore(TracedStore):
    """Its subscriptions take no real time to wait."""

    def pubsub(self, **options: Any) -> "TracedMessages":
        messages: Any = TracedMessages(self.connection_pool, **options)
        messages.tracer, messages.client = self.tracer, self
        traced: TracedMessages = messages
        return traced


class TracedMessages(PubSub):
    """A subscription: the message is there when the buyer continues, or it is not."""

    tracer: Tracer
    client: TracedStore

    def subscribe(self, *args: Any, **kwargs: Any) -> Any:
        self.tracer.step(("SUBSCRIBE", *args))
        answer: Any = super().subscribe(*args, **kwargs)
        self.tracer.saw(None)
        return answer

    def get_message(self, ignore_subscribe_messages: bool = False, timeout: float = 0.0) -> Any:
        self.tracer.step((WAIT, round(timeout, 3)))
        # Messages published before this answer have then arrived in the socket.
        Redis.execute_command(self.client, "PING")  # type: ignore[no-untyped-call]
        while message := super().get_message(timeout=0):
            if message["type"] == "message":
                self.tracer.saw(message["data"])
                return message
        self.tracer.waited(timeout)
        self.tracer.saw(None)
        return None


class TracedCluster(RedisCluster):
    tracer: Tracer | None = None  # while the client looks up the nodes

    def execute_command(self, *args: Any, **options: Any) -> Any:
        send = partial(super().execute_command, *args, **options)
        return self.tracer.trace(args, send) if self.tracer else send()


class TracedConnection(psycopg.Connection[Any]):
    """A connection to PostgreSQL that traces each statement, and COMMIT."""

    tracer: Tracer

    @classmethod
    def traced_by(cls, tracer: Tracer, url: str, **options: Any) -> Self:
        connection = cls.connect(url, **options)
        connection.tracer = tracer
        connection.cursor_factory = TracedCursor
        tracer.connected(connection)
        return connection

    def commit(self) -> None:
        self.tracer.step(("COMMIT",))
        super().commit()
        self.tracer.saw(None)


class TracedCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        connection = self.connection
        assert isinstance(connection, TracedConnection)
        connection.tracer.step((query, params))
        super().execute(query, params, **options)
        connection.tracer.saw(self.statusmessage)
        return self
