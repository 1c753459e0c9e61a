"""Clients that call a tracer before each command and after each answer."""

from typing import Any, Protocol

import psycopg
from redis import Redis
from redis.client import PubSub
from redis.cluster import RedisCluster
from redis.exceptions import RedisError

from bench.lab.schedules.stepped_store import SteppedConnection, SteppedCursor, SteppedPipeline, SteppedStore

WAIT = "wait for a message"


class Tracer(Protocol):
    """The kind of call that a traced client makes."""

    def step(self, args: tuple[Any, ...]) -> None:
        """Called before a command is sent. May wait, or raise."""

    def saw(self, answer: Any) -> None:
        """Called with the answer, or with the error."""

    def connected(self, connection: psycopg.Connection[Any]) -> None:
        """Called with each new connection to the database."""

    def waited(self, seconds: float) -> None:
        """Called when no message came within so many seconds."""


class TracedStore(SteppedStore):
    tracer: Tracer

    @classmethod
    def traced_by(cls, tracer: Tracer, url: str, **options: Any) -> "TracedStore":
        client: Any = cls.from_url(url, **options)
        client.tracer, client.step = tracer, tracer.step
        traced: TracedStore = client
        return traced

    def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            answer = super().execute_command(*args, **options)
        except RedisError as error:
            self.tracer.saw(error)
            raise
        self.tracer.saw(answer)
        return answer

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> "TracedPipeline":
        pipeline = TracedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipeline.tracer, pipeline.step = self.tracer, self.tracer.step
        return pipeline

    def pubsub(self, **options: Any) -> "TracedMessages":
        messages: Any = TracedMessages(self.connection_pool, **options)
        messages.tracer, messages.client = self.tracer, self
        traced: TracedMessages = messages
        return traced


class TracedPipeline(SteppedPipeline):
    tracer: Tracer

    def immediate_execute_command(self, *args: Any, **options: Any) -> Any:
        answer = super().immediate_execute_command(*args, **options)
        self.tracer.saw(answer)
        return answer

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        try:
            answers = super().execute(raise_on_error)
        except RedisError as error:
            self.tracer.saw(error)
            raise
        self.tracer.saw(answers)
        return answers


class TracedMessages(PubSub):
    """A subscription. Waiting takes no real time: the message is there when the buyer continues, or it is not."""

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
    tracer: Tracer

    @classmethod
    def traced_by(cls, tracer: Tracer, url: str, **options: Any) -> "TracedCluster":
        client: Any = cls.from_url(url, **options)
        client.tracer = tracer
        traced: TracedCluster = client
        return traced

    def execute_command(self, *args: Any, **options: Any) -> Any:
        tracer: Tracer | None = getattr(self, "tracer", None)  # not set yet while the client looks up the nodes
        if tracer is None:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        tracer.step(args)
        try:
            answer: Any = super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except RedisError as error:
            tracer.saw(error)
            raise
        tracer.saw(answer)
        return answer


class TracedConnection(SteppedConnection):
    tracer: Tracer

    @classmethod
    def traced_by(cls, tracer: Tracer, url: str, **options: Any) -> "TracedConnection":
        connection = cls.connect(url, **options)
        connection.tracer, connection.step = tracer, tracer.step
        connection.cursor_factory = TracedCursor
        tracer.connected(connection)
        return connection

    def commit(self) -> None:
        super().commit()
        self.tracer.saw(None)


class TracedCursor(SteppedCursor):
    def execute(self, query: Any, params: Any = None, **options: Any) -> "TracedCursor":
        super().execute(query, params, **options)
        connection = self.connection
        if isinstance(connection, TracedConnection):
            connection.tracer.saw(self.statusmessage)
        return self
