"""Asking the reservation store from an event loop: the counterpart of `seckill.store.client.ask`."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from redis import Redis
from redis.exceptions import MovedError, RedisError

from seckill.store.client import StoreUnreachable, leave_former_primary, noted_failure, reservation_servers
from seckill.store.cluster import ClusterNodes
from seckill.store.failures import Cause
from seckill.store.pipeline.pipeline import Pipeline
from seckill.store.scripts import Argument, Script


class ServerNotKnown(Exception):
    """The process has not learnt yet which node of the Cluster has the item. Nothing was sent."""


class Pipelines:
    """One pipeline to each server, for one event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        # By the pool of the server's client.
        self._pipelines: dict[object, Pipeline] = {}

    async def run(
        self,
        script: Script,
        *,
        item_id: int,
        keys: tuple[str, ...],
        args: Sequence[Argument],
        is_yes: Callable[[Any], bool],
    ) -> Any:
        """The script's answer as it comes. Raises StoreUnreachable and ServerNotKnown.

        `is_yes` says of a reply whether it must be on replicas before it is told (SECKILL_YES_REPLICAS).
        """
        servers, command = reservation_servers(), script.packed_call(keys=keys, args=args)
        try:
            return await self._run(client_of(item_id, servers), script, command, item_id, is_yes)
        except MovedError as error:
            if not isinstance(servers, ClusterNodes):
                raise noted_failure(error) from error
            servers.moved(error)
        except StoreUnreachable:
            if isinstance(servers, ClusterNodes):
                # Perhaps another node has been promoted.
                servers.refresh_soon()
            raise
        try:
            return await self._run(client_of(item_id, servers), script, command, item_id, is_yes)
        except MovedError as error:
            raise noted_failure(error) from error

    async def connect(self, item_ids: Sequence[int]) -> None:
        """Open the connections for these items before the first call. Raises nothing."""
        servers = reservation_servers()
        pipelines: set[Pipeline] = set()
        # A single server is asked for any item.
        for item_id in item_ids or [0]:
            with suppress(ServerNotKnown):
                pipelines.add(self._pipeline_of(client_of(item_id, servers)))
        # Each server is waited for once, and none for another one.
        await asyncio.gather(*(pipeline.connect() for pipeline in pipelines))

    def close(self) -> None:
        """For an event loop that ends. Calls under way get no answer."""
        for pipeline in self._pipelines.values():
            pipeline.close()
        self._pipelines = {}

    async def _run(
        self, client: Redis, script: Script, command: bytes, item_id: int, is_yes: Callable[[Any], bool]
    ) -> Any:
        """Raises StoreUnreachable, and MovedError."""
        pipeline = self._pipeline_of(client)
        if refusal := pipeline.refusal():
            raise noted_failure(refusal) from refusal
        # Asked last: a call that it lets through as a probe must try.
        if not pipeline.breaker.may_call():
            raise StoreUnreachable("the store did not answer in time a moment ago", cause=Cause.TIMEOUT)
        try:
            return await pipeline.run(script, command, item_id=item_id, is_yes=is_yes)
        except MovedError:
            raise
        except RedisError as error:
            if leave_former_primary(error, client=client):
                pipeline.retire()
            raise noted_failure(error) from error

    def _pipeline_of(self, client: Redis) -> Pipeline:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self.close()
            self._loop = loop
        pipeline = self._pipelines.get(client.connection_pool)
        if pipeline is None:
            pipeline = self._pipelines[client.connection_pool] = Pipeline(client, loop=loop)
        return pipeline


def client_of(item_id: int, servers: Redis | ClusterNodes) -> Redis:
    """Raises ServerNotKnown."""
    client = servers.known_client_of(item_id) if isinstance(servers, ClusterNodes) else servers
    if client is None:
        raise ServerNotKnown
    return client
