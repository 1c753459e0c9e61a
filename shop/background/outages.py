"""One log line when work stops because a server is away, and one when it goes on, in each process.

Sweeps come again every second. A traceback for each of them filled hundreds of megabytes an hour and said nothing new.
"""

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django_redis.exceptions import ConnectionInterrupted
from kombu.exceptions import OperationalError as BrokerAway
from psycopg.errors import UndefinedColumn, UndefinedTable
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)


class ServerAway(Exception):
    """A server does not answer at the moment. Work that waits for it is tried again."""


AWAY = (ServerAway, OperationalError, InterfaceError, ConnectionInterrupted, RedisError, BrokerAway)

# The work that waits in this process, and the kind of error for which it does.
_waiting: dict[str, str] = {}


def wait(work: str, error: BaseException | str) -> None:
    """Note that the work could not be done. It is logged when it begins to wait, and when the error is another one."""
    kind = type(error).__name__
    if _waiting.get(work) != kind:
        _waiting[work] = kind
        log.warning("work_waits", work=work, error=one_line(error))


def one_line(error: BaseException | str) -> str:
    """The text of the error, or its kind where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def go_on(work: str) -> None:
    """Note that the work was done."""
    if _waiting.pop(work, None):
        log.warning("work_goes_on", work=work)


def database_failed(error: DatabaseError) -> str:
    """What a command says that could not read PostgreSQL: it does not answer, or nobody has migrated it yet."""
    if isinstance(error.__cause__, UndefinedTable | UndefinedColumn):
        return f"PostgreSQL lacks tables of this release, run `manage.py migrate` first: {one_line(error)}"
    return f"PostgreSQL does not answer: {one_line(error)}"
