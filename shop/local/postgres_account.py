"""PostgreSQL refuses to run as root: find or make an account for it and let that account reach its files."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

_ACCOUNT = "embedded_postgres"
_FALLBACK = "nobody"
_READ = stat.S_IROTH | stat.S_IXOTH


def postgres_account(*, data: Path) -> str | None:
    """The account that PostgreSQL has to run as; None when we are not root and it runs as ourselves.

    Existing data is served by its owner, so that one `sudo make run` does not take the data away from the
    ordinary user.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return pwd.getpwuid(data.stat().st_uid).pw_name
    account = _ACCOUNT if _exists(name=_ACCOUNT) or _make(name=_ACCOUNT) else _FALLBACK
    if data.exists():
        for path in (data, *data.rglob("*")):
            shutil.chown(path, account)
    return account


def make_readable(*, trees: Iterable[Path]) -> None:
    """Let other users read and reach these directories with all in them, which a umask of 077 has closed."""
    for tree in trees:
        make_reachable(place=tree)
        changed = [_add(path=path, bits=_READ) for path in (tree, *tree.rglob("*")) if not path.is_symlink()]
        if any(changed):
            _tell(f"chmod -R o+rX {tree}")


def make_reachable(*, place: Path) -> None:
    """Let other users pass through, but not list, the directories above it.

    Says on stderr what was changed: these may be directories that somebody closed on purpose.
    """
    for directory in sorted({*place.absolute().parents, *place.resolve().parents}):
        if _add(path=directory, bits=stat.S_IXOTH):
            _tell(f"chmod o+x {directory}")


def _add(*, path: Path, bits: int) -> bool:
    """Add permissions; permission to execute only where the owner has it. Returns whether it changed anything."""
    mode = stat.S_IMODE(path.stat().st_mode)
    wanted = mode | (bits if mode & stat.S_IXUSR else bits & ~stat.S_IXOTH)
    if mode != wanted:
        path.chmod(wanted)
    return mode != wanted


def _tell(what: str) -> None:
    print(f"PostgreSQL does not run as root: {what}", file=sys.stderr)


def _exists(*, name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _make(*, name: str) -> bool:
    program = shutil.which("useradd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        return False
    options = ["--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"]
    made = subprocess.run([program, *options, name], capture_output=True)
    if made.returncode == 0:
        _tell(f"made the system user {name} for it")
    return made.returncode == 0
