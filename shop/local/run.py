"""`make run`: the whole shop on one machine. Ctrl-C stops all of it.

python -m shop.local.run        reads HOST, PORT, STORE, and DATABASE_URL, SECKILL_REDIS_URL, REDIS_URL
"""

import contextlib
import errno
import os
import pwd
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from shop.configuration.demo_guard import LOOPBACK, OPEN_TO_OTHERS, RUN_VARIABLE
from shop.languages.translations import compile_translations
from shop.local.directory_lock import DirectoryInUse, lock_directory
from shop.local.environment import BadEnvironment, RunSettings, last_store, read_settings, write_environment
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed, start_on_free_ports
from shop.local.servers import EmbeddedServers
from shop.local.shop_processes import ROOT, processes, steps
from shop.local.stores.replicated_store import ReplicatedStore
from shop.local.supervisor import StopRequested, Supervisor
from shop.local.wheel import WheelMissing

_CONSOLE = Console(highlight=False, soft_wrap=True)

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
# Data and logs of a first start take 65 MB, and PostgreSQL's log of changes grows with the orders.
_ROOM_MB = 300


class PortUnusable(Exception):
    """The web server could not listen on its port. The message says what to do."""


def main() -> int:
    """Run the shop until asked to stop. Returns the exit code: 2 for a bad environment, 1 for failures."""
    supervisor = Supervisor(report=_print)
    supervisor.listen()
    try:
        settings = read_settings(environ=os.environ, directory=ROOT / ".stampede")
        with lock_directory(directory=settings.directory):
            _check_port(settings=settings)
            return _supervise(settings=settings, supervisor=supervisor)
    except BadEnvironment as error:
        _print_error(str(error))
        return 2
    except (DirectoryInUse, PortUnusable, DataUnusable, WheelMissing, ProcessFailed) as error:
        # A server's own words, such as those of initdb, do not say how much room there is.
        full = os.strerror(errno.ENOSPC) in str(error)
        _print_error(f"{error}\n{_room(directory=settings.directory)}" if full else str(error))
        return 1
    except OSError as error:
        if error.errno not in (*_NO_ROOM, *_NOT_ALLOWED):
            raise
        _print_error(_file_problem(error=error, directory=settings.directory))
        return 1


def _supervise(*, settings: RunSettings, supervisor: Supervisor) -> int:
    servers = None
    if not settings.own_servers:
        servers = EmbeddedServers(settings.directory, store=settings.store, replicas_min=settings.replicas_min)
    try:
        values = _start(settings=settings, servers=servers, supervisor=supervisor)
        _print(_welcome(settings=settings, values=values, servers=servers))
        supervisor.watch()
    except StopRequested:
        _print("Stopping …")
        return 0
    finally:
        supervisor.stop()
        if servers:
            servers.close()
        _print("Stopped.")


def _start(*, settings: RunSettings, servers: EmbeddedServers | None, supervisor: Supervisor) -> Mapping[str, str]:
    """Start the servers, prepare them, start the shop. Returns the content of the environment file."""
    with _CONSOLE.status("Starting …"):
        urls = settings.own_servers or {}
        if servers:
            _tell_of_another_store(settings=settings)
            _start_servers(servers=servers, supervisor=supervisor)
            urls = servers.environment()
        values = write_environment(settings=settings, urls=urls)
        os.environ.update(values)
        os.environ[RUN_VARIABLE] = OPEN_TO_OTHERS if settings.open_to_others else LOOPBACK
        compile_translations()
        supervisor.start(processes=steps(settings=settings))
        broker_url = os.environ.get("CELERY_BROKER_URL") or urls["REDIS_URL"]
        supervisor.start(processes=processes(settings=settings, broker_url=broker_url))
    return values


def _start_servers(*, servers: EmbeddedServers, supervisor: Supervisor) -> None:
    def start() -> None:
        supervisor.start(processes=servers.processes)
        servers.settle(pause=supervisor.pause)
        if servers.replicated:
            _print(f"[green]✓[/] reservation store: {servers.replicated.title}")
        supervisor.start(processes=servers.watchers)

    start_on_free_ports(prepare=servers.prepare, start=start, stop=supervisor.stop)


def _tell_of_another_store(*, settings: RunSettings) -> None:
    """Each kind of store has data of its own; the repair worker compares it with PostgreSQL at each start."""
    last = last_store(directory=settings.directory)
    if last not in (None, settings.store):
        _print(
            f"The last run had STORE={last}. STORE={settings.store} has data of its own: items on sale are restored "
            "from the orders in PostgreSQL, and can be bought some seconds after the start."
        )


def _welcome(*, settings: RunSettings, values: Mapping[str, str], servers: EmbeddedServers | None) -> str:
    admin, buyer = values["STAMPEDE_ADMIN_PASSWORD"], values["STAMPEDE_BUYER_PASSWORD"]
    lines = [
        "",
        f"[bold]Stampede is open at {settings.url}/[/]",
        f"  admin      {settings.url}/admin/     user admin, password {escape(admin)}",
        f"  API        {settings.url}/api/docs/",
        f"  buyers     alice and bob, password {escape(buyer)}",
        f"  mails      {escape(_mails(settings=settings, values=values))}",
        f"  logs       {escape(str(settings.directory))}/logs/*.log",
    ]
    if servers and servers.replicated:
        lines.append(f"  store      {_failover_hint(store=servers.replicated)}")
    if settings.open_to_others and not any(settings.allowed_hosts):
        lines.append("  Other machines can connect; set ALLOWED_HOSTS to the names they use, or they get 400.")
    if settings.open_to_others and not os.environ.get("PAYMENT_PROVIDERS"):
        lines.append(
            "  Nobody can pay, since others may reach this shop: PAYMENT_PROVIDERS=simulated lets them pretend to."
        )
    return "\n".join([*lines, "Ctrl-C stops everything."])


def _failover_hint(*, store: ReplicatedStore) -> str:
    """The processes to kill in order to see a failover."""
    primaries = [f"{node.name} (process {node.process.pid})" for node in store.nodes if node.is_primary]
    return f"{store.title}; kill -9 a primary to see a failover: {', '.join(primaries)}"


def _mails(*, settings: RunSettings, values: Mapping[str, str]) -> str:
    """Where mails to buyers can be read. The address of a mail server is not shown: it may hold a password."""
    to_files = values["EMAIL_URL"].startswith("filemail:")
    return f"{settings.mail_directory}/" if to_files else "to the mail server of EMAIL_URL"


def _check_port(*, settings: RunSettings) -> None:
    """Raises PortUnusable. Called before anything is started, so that a taken port is reported at once."""
    host, port = settings.host, settings.port
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as listener:
            # As granian does: a port in TIME_WAIT counts as free.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"Port {port} is in use by another program."
        elif error.errno == errno.EACCES:
            reason = f"Port {port} can be opened by root only."
        else:
            raise PortUnusable(f"Cannot listen on HOST={host}, port {port}: {error}.") from error
        free = port + 1 if 1024 <= port < 65535 else 8001
        raise PortUnusable(f"{reason} Choose a free one, for example: PORT={free} make run") from error


def _file_problem(*, error: OSError, directory: Path) -> str:
    """Which path cannot be written, whose it is or how much room there is, and what to do."""
    path = Path(error.filename or directory)
    if error.errno in _NO_ROOM:
        return f"{path} cannot be written: {error.strerror}.\n{_room(directory=directory)}"
    known = next(each for each in (path, *path.parents) if os.path.lexists(each))
    owner, us = _user(known.lstat().st_uid), _user(os.geteuid())
    problem = f"{path} cannot be used: {error.strerror}. {known} belongs to the user {owner}, and this is {us}."
    if us in (owner, "root"):
        return f"{problem} Let {us} write there, or run in a clone that is elsewhere."
    elsewhere = f"{problem} Run as {owner}, or in a clone of your own."
    if not known.is_relative_to(directory):
        return elsewhere
    return f"{elsewhere} To take over this shop and its data: sudo chown -R {os.geteuid()} {directory}"


def _room(*, directory: Path) -> str:
    known = next(each for each in (directory, *directory.parents) if each.exists())
    free_mb = shutil.disk_usage(known).free // 1_000_000
    return (
        f"{free_mb} MB are free for {directory}, and a new shop wants {_ROOM_MB} MB. "
        "Make room and start again: what is there is kept."
    )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"number {number}"


def _print(text: str) -> None:
    """Print. A closed terminal or pipe is ignored, because the processes must still be stopped."""
    with contextlib.suppress(OSError):
        _CONSOLE.print(text)


def _print_error(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
