"""Named places at which a process can be told to die: for the fault harness, and for nothing else.

    FAILPOINTS=/some/directory                  makes every `reach("name")` look for a file of that name there
    /some/directory/intake.before_commit        its content says at which visit to die: 1 is the next

The process that comes to the place at that visit removes the file and sends itself SIGKILL: no `finally`, no rollback,
no answer. Without FAILPOINTS `reach` is a function that does nothing. (The idea: FreeBSD's fail(9), etcd's gofail.)
"""

import os
import signal
from pathlib import Path

_DIRECTORY = os.environ.get("FAILPOINTS")


def _nothing(name: str) -> None:
    """Nobody dies here."""


def _die_if_told(name: str) -> None:
    """Count the visits down in the file; at the last one, die."""
    path = Path(_DIRECTORY or "") / name
    try:
        visits = int(path.read_text() or 1)
        if visits > 1:
            path.write_text(str(visits - 1))
            return
        # Whoever removes the file is the one to die, also where two processes come by at once.
        path.unlink()
    except (FileNotFoundError, ValueError):
        return
    os.kill(os.getpid(), signal.SIGKILL)


reach = _die_if_told if _DIRECTORY else _nothing
