"""Which PostgreSQL server this is, so that it is noticed when another one takes over.

A server that is promoted, or restored to a point in time, begins a new timeline. It may lack the last commits of the
server before it, unless replication was synchronous. A dump that is restored into a new server has another system
identifier.
"""

import structlog
from django.db import InternalError, NotSupportedError, ProgrammingError, connection

log = structlog.get_logger(__name__)

# The name of the file that is written now begins with the timeline. Unlike pg_control_checkpoint(), which tells that of
# the last checkpoint, it is right as soon as the server takes writes. Every role may call these functions.
FIND_TIMELINE = "SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()"

# Errors that this process has logged: the sweep asks every second.
_logged: set[str] = set()


def database_timeline() -> str:
    """For example `7430112233445566778/2`. Empty where the server does not tell, as some managed services do not.

    Raises OperationalError where there is no server, or only a standby.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(FIND_TIMELINE)
            identifier, timeline = cursor.fetchone()
    except (ProgrammingError, NotSupportedError, InternalError) as error:
        if str(error) not in _logged:
            _logged.add(str(error))
            log.warning("database_timeline_unknown", error=str(error))
        return ""
    return f"{identifier}/{int(timeline, 16)}"
