"""Stepped clients that also tell what came back: the interleaver's eyes and reins.

Each asks its rein before a command is sent (`step`, which may wait, or never return), and tells it the answer (`saw`).
"""

from typing import Any, Protocol

import psycopg
from redis import Redis
from redis.client import PubSub
from redis.cluster import RedisCluster
from redis.exceptions import RedisError

from bench.lab.schedules.stepped_store import SteppedConnection, SteppedCursor, SteppedPipeline, SteppedStore

WAIT = "wait for a message"


class Rein(Protocol):
    """Who holds a client."""

    def step(self, args: tuple[Any, ...]) -> None:
        """Called before a command is sent."""

    def saw(self, answer: Any) -> None:
        """Called with the answer, or with the error."""

    def connected(self, connection: psycopg.Connection[Any]) -> None:
        """Called with each new connection to the database."""

    def waited(self, seconds: float) -> None:
        """Called when a wait for a message was in vain."""


class WatchedStore(SteppedStore):
    rein: Rein

    @classmethod
    def held_by(cls, rein: Rein, url: str, **options: Any) -> "WatchedStore":
        client: Any = cls.from_url(url, **options)
        client.rein, client.step = rein, rein.step
        held: WatchedStore = client
        return held

    def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            answer = super().execute_command(*args, **options)
        except RedisError as error:
            self.rein.saw(error)
            raise
        self.rein.saw(answer)
        return answer

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> "WatchedPipeline":
        pipeline = WatchedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipeline.rein, pipeline.step = self.rein, self.rein.step
        return pipeline

    def pubsub(self, **options: Any) -> "WatchedMessages":
        messages: Any = WatchedMessages(self.connection_pool, **options)
        messages.rein, messages.client = self.rein, self
        held: WatchedMessages = messages
        return held


class WatchedPipeline(SteppedPipeline):
    rein: Rein

    def immediate_execute_command(self, *args: Any, **options: Any) -> Any:
        answer = super().immediate_execute_command(*args, **options)
        self.rein.saw(answer)
        return answer

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        try:
            answers = super().execute(raise_on_error)
        except RedisError as error:
            self.rein.saw(error)
            raise
        self.rein.saw(answers)
        return answers


class WatchedMessages(PubSub):
    """A subscription. Waiting for a message takes no time: it is there when its buyer is let go, or it is not."""

    rein: Rein
    client: WatchedStore

    def subscribe(self, *args: Any, **kwargs: Any) -> Any:
        self.rein.step(("SUBSCRIBE", *args))
        answer: Any = super().subscribe(*args, **kwargs)
        self.rein.saw(None)
        return answer

    def get_message(self, ignore_subscribe_messages: bool = False, timeout: float = 0.0) -> Any:
        self.rein.step((WAIT, round(timeout, 3)))
        # Whatever was published before this answer lies in our socket after it.
        Redis.execute_command(self.client, "PING")  # type: ignore[no-untyped-call]
        while message := super().get_message(timeout=0):
            if message["type"] == "message":
                self.rein.saw(message["data"])
                return message
        self.rein.waited(timeout)
        self.rein.saw(None)
        return None


class WatchedCluster(RedisCluster):
    rein: Rein

    @classmethod
    def held_by(cls, rein: Rein, url: str, **options: Any) -> "WatchedCluster":
        client: Any = cls.from_url(url, **options)
        client.rein = rein
        held: WatchedCluster = client
        return held

    def execute_command(self, *args: Any, **options: Any) -> Any:
        rein: Rein | None = getattr(self, "rein", None)  # not yet, while the client looks round in the cluster
        if rein is None:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        rein.step(args)
        try:
            answer: Any = super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except RedisError as error:
            rein.saw(error)
            raise
        rein.saw(answer)
        return answer


class WatchedConnection(SteppedConnection):
    rein: Rein

    @classmethod
    def held_by(cls, rein: Rein, url: str, **options: Any) -> "WatchedConnection":
        connection = cls.connect(url, **options)
        connection.rein, connection.step = rein, rein.step
        connection.cursor_factory = WatchedCursor
        rein.connected(connection)
        return connection

    def commit(self) -> None:
        super().commit()
        self.rein.saw(None)


class WatchedCursor(SteppedCursor):
    def execute(self, query: Any, params: Any = None, **options: Any) -> "WatchedCursor":
        super().execute(query, params, **options)
        connection = self.connection
        if isinstance(connection, WatchedConnection):
            connection.rein.saw(self.statusmessage)
        return self
