"""The embedded servers: durable, alone in their directory, and back after kill -9."""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from shop.local import directory_lock
from shop.local import servers as local_servers
from shop.local.directory_lock import DirectoryInUse
from shop.local.ports import free_ports
from shop.local.postgres import DataUnusable
from shop.local.servers import EmbeddedServers
from tests.embedded_servers import temporary_server_directory
from tests.processes import descendants, living, wait_until


@pytest.fixture(scope="module")
def servers_of_the_file() -> Iterator[EmbeddedServers]:
    with temporary_server_directory() as directory:
        # A first start was interrupted.
        half = directory / "servers" / "postgres.new"
        half.mkdir(parents=True)
        (half / "PG_VERSION").write_text("18\n")
        servers = EmbeddedServers(directory / "servers")
        yield servers
        servers.stop()


@pytest.fixture
def servers(servers_of_the_file: EmbeddedServers) -> EmbeddedServers:
    """They run. Their data is made once for all tests, which takes a second; who damages it mends it."""
    if not all(process.running for process in servers_of_the_file.processes) or not servers_of_the_file.processes:
        servers_of_the_file.start()
    return servers_of_the_file


def rows(servers: EmbeddedServers, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(servers.environment()["DATABASE_URL"], autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def valkey(servers: EmbeddedServers, name: str) -> redis.Redis:
    return redis.Redis.from_url(servers.environment()[name])


def test_after_an_interrupted_first_start_the_store_syncs_before_it_answers_and_evicts_nothing(
    servers: EmbeddedServers,
) -> None:
    with valkey(servers, "SECKILL_REDIS_URL") as store:
        config = {name: store.config_get(name)[name] for name in ("appendonly", "appendfsync", "save")}
        assert config == {"appendonly": "yes", "appendfsync": "always", "save": ""}
        assert store.config_get("bind") == {"bind": "127.0.0.1"}
        assert store.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert store.config_get("no-appendfsync-on-rewrite") == {"no-appendfsync-on-rewrite": "no"}
    assert not (servers.directory / "postgres.new").exists()
    assert rows(servers, "SHOW listen_addresses") == [("127.0.0.1",)]
    assert rows(servers, "SHOW synchronous_commit") == [("on",)]
    assert rows(servers, "SHOW server_encoding") == [("UTF8",)]


def test_a_client_without_the_password_does_not_get_in(servers: EmbeddedServers) -> None:
    for name in ("SECKILL_REDIS_URL", "REDIS_URL"):
        address = servers.environment()[name].partition("@")[2]
        with redis.Redis.from_url(f"redis://{address}") as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
    address = servers.environment()["DATABASE_URL"].partition("@")[2]
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"postgresql://stampede:wrong@{address}")
    assert stat.S_IMODE((servers.directory / "secrets.json").stat().st_mode) == 0o600


def test_a_second_start_in_the_same_directory_is_refused(servers: EmbeddedServers) -> None:
    with pytest.raises(DirectoryInUse, match=f"in use by process {os.getpid()}. Stop that one first"):
        EmbeddedServers(servers.directory).start()
    assert rows(servers, "SELECT 1") == [(1,)]


def test_servers_of_an_earlier_run_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_lock, "_LEFTOVERS_SECONDS", 0.2)
    with (
        directory_lock.lock_servers(directory=tmp_path),
        pytest.raises(DirectoryInUse, match="Servers of an earlier run still use"),
    ):
        directory_lock.lock_servers(directory=tmp_path)


def test_data_survives_kill_9_of_all_servers(servers: EmbeddedServers) -> None:
    rows(servers, "CREATE TABLE kept AS SELECT 42 AS answer")
    with valkey(servers, "SECKILL_REDIS_URL") as store:
        store.set("kept", "42")
    pids = [process.pid for process in servers.processes if process.pid]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    servers.stop()

    servers.start()

    assert rows(servers, "SELECT answer FROM kept") == [(42,)]
    with valkey(servers, "SECKILL_REDIS_URL") as store:
        assert store.get("kept") == b"42"


def test_kill_9_of_the_supervisor_leaves_no_orphans_and_does_not_block_the_next_start(servers: EmbeddedServers) -> None:
    servers.stop()
    program = (
        "import sys, time; from pathlib import Path; from shop.local.servers import EmbeddedServers\n"
        "EmbeddedServers(Path(sys.argv[1])).start(); print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(servers.directory)], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout
        assert supervisor.stdout.readline() == "up\n"
        children = descendants(pid=supervisor.pid)
        assert len(children) >= 3
        supervisor.kill()

    servers.start()
    assert rows(servers, "SELECT 1") == [(1,)]
    wait_until(lambda: not living(pids=children), seconds_max=5)


def test_a_stop_leaves_nothing_running_and_data_that_it_cannot_use_is_not_touched(servers: EmbeddedServers) -> None:
    children = descendants(pid=os.getpid())
    pids = {process.pid for process in servers.processes if process.pid}
    assert len(pids) == 3
    assert pids <= children

    servers.stop()

    assert not living(pids=pids)
    with without(servers.directory / "postgres" / "PG_VERSION") as version:
        version.write_text("12\n")
        with pytest.raises(DataUnusable, match="written by PostgreSQL 12, and this is PostgreSQL"):
            servers.start()
    with without(servers.directory / "secrets.json") as passwords:
        with pytest.raises(DataUnusable, match="its password is gone"):
            servers.start()
        assert not passwords.exists()


@contextmanager
def without(path: Path) -> Iterator[Path]:
    """The file is away for the length of a `with`."""
    away = path.rename(path.with_suffix(".away"))
    try:
        yield path
    finally:
        away.replace(path)


def test_a_port_taken_at_the_last_moment_is_replaced(servers: EmbeddedServers, monkeypatch: pytest.MonkeyPatch) -> None:
    servers.stop()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken: int = stranger.getsockname()[1]
        free = free_ports
        choices = iter([[taken, *free(count=2)], free(count=3)])
        monkeypatch.setattr(local_servers, "free_ports", lambda *, count: next(choices))
        servers.start()
    assert rows(servers, "SELECT 1") == [(1,)]
    assert f":{taken}/" not in servers.environment()["DATABASE_URL"]
