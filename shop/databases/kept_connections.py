"""The connections that a process of a worker keeps from task to task."""

import select

from django.db import close_old_connections, connections
from psycopg import Connection, Error
from psycopg.pq import ConnStatus

# As long as a new connection may take (shop/configuration/database_connections.py).
ANSWER_SECONDS = 2.0


def close_unusable_connections() -> None:
    """Closes those that are broken or too old, and those on which the server is silent.

    Django asks too, but without a limit: a frozen server would hold each task for a minute, and work would go on so
    much later after a failover. A task without a connection opens one, or learns in two seconds that it cannot.
    """
    close_old_connections()
    for one in connections.all(initialized_only=True):
        if one.connection is not None and not answers(one.connection):
            one.close()


def answers(connection: Connection) -> bool:
    try:
        connection.pgconn.send_query(b"")
        readable, _writable, _failed = select.select([connection.pgconn.socket], [], [], ANSWER_SECONDS)
        # The answer is one packet of a few bytes.
        while readable and connection.pgconn.get_result():
            pass
    except (Error, OSError):
        return False
    return bool(readable) and connection.pgconn.status == ConnStatus.OK
