"""One server of a reservation store that consists of several."""

from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from shop.local.process import Process

HOST = "127.0.0.1"

# A frozen server must not hold up a question to all servers.
_ANSWER_SECONDS_MAX = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class StoreNode:
    """A primary, a replica or a sentinel: its address, and its process."""

    name: str
    port: int
    password: str
    process: Process
    host: str = HOST

    def client(self) -> Any:
        """A client of this server alone, which repeats nothing. It is the caller's to close."""
        return Redis(
            host=self.host,
            port=self.port,
            password=self.password,
            socket_timeout=_ANSWER_SECONDS_MAX,
            socket_connect_timeout=_ANSWER_SECONDS_MAX,
            retry=Retry(NoBackoff(), 0),
        )

    def ask(self, *command: str) -> Any:
        """The answer to one command; None when the server gives none."""
        if not self.process.running:
            return None
        try:
            with self.client() as client:
                return client.execute_command(*command)
        except (RedisError, OSError):
            return None

    @property
    def is_primary(self) -> bool:
        """Whether it says so itself. A former primary that came back a moment ago may say so too."""
        return (self.ask("INFO", "replication") or {}).get("role") == "master"

    def follows(self, primary: "StoreNode") -> bool:
        """Whether it is a replica of this primary, connected to it or not."""
        replication = self.ask("INFO", "replication") or {}
        return replication.get("role") == "slave" and replication.get("master_port") == primary.port

    def is_in_sync(self) -> bool:
        """Whether it is a replica with all data of its primary, or a primary with such a replica; all on disk."""
        replication, persistence = self.ask("INFO", "replication"), self.ask("INFO", "persistence")
        if not replication or not persistence:
            return False
        if replication["role"] == "slave":
            together = replication["master_link_status"] == "up" and not replication["master_sync_in_progress"]
        else:
            together = (replication.get("slave0") or {}).get("state") == "online"
        # A replica that has got all data writes a new append-only file, and syncs nothing until that is finished.
        rewriting = persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"]
        return bool(together and not rewriting)
