"""Named places in the code at which a process can be made to kill itself. Only the fault harness uses them.

    FAILPOINTS=/some/directory                  every `reach("name")` looks for a file of that name there
    /some/directory/intake.before_commit        its content is the number of the call that dies: 1 is the next

The process that makes that call removes the file and sends itself SIGKILL: no `finally`, no rollback, no answer.
Without FAILPOINTS, as in every real shop, `reach` is an empty function: a call takes about 20 ns and opens no file.
FAILPOINTS is read once, at import. (The idea comes from FreeBSD's fail(9) and etcd's gofail.)
"""

import os
import signal
from pathlib import Path

_DIRECTORY = os.environ.get("FAILPOINTS")


def _do_nothing(name: str) -> None:
    """`reach` without FAILPOINTS."""


def _die_at_last_call(name: str) -> None:
    """Count the calls down in the file, and die at the last one."""
    path = Path(_DIRECTORY or "") / name
    try:
        calls = int(path.read_text() or 1)
        if calls > 1:
            path.write_text(str(calls - 1))
            return
        # Of two processes that come here at the same time, the one that removes the file dies.
        path.unlink()
    except (FileNotFoundError, ValueError):
        return
    os.kill(os.getpid(), signal.SIGKILL)


reach = _die_at_last_call if _DIRECTORY else _do_nothing
