"""PostgreSQL refuses to run as root: find or create an account for it and let it reach its files."""

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
    """The account that PostgreSQL has to run as; None when we are not root and it runs as our own user.

    Existing data keeps its owner, so that an ordinary user can still use it after one `sudo make run`.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return pwd.getpwuid(data.stat().st_uid).pw_name
    account = _ACCOUNT if _exists(name=_ACCOUNT) or _create(name=_ACCOUNT) else _FALLBACK
    if data.exists():
        for path in (data, *data.rglob("*")):
            shutil.chown(path, account)
    return account


def make_readable(*, trees: Iterable[Path]) -> None:
    """Let other users read and reach everything in these directories; a umask of 077 forbids it."""
    for tree in trees:
        make_reachable(place=tree)
        changed = [_add(path=path, bits=_READ) for path in (tree, *tree.rglob("*")) if not path.is_symlink()]
        if any(changed):
            _print_change(f"chmod -R o+rX {tree}")


def make_reachable(*, place: Path) -> None:
    """Let other users pass through, but not list, the directories above `place`.

    Prints its changes to stderr, since a directory may have been closed on purpose.
    """
    for directory in sorted({*place.absolute().parents, *place.resolve().parents}):
        if _add(path=directory, bits=stat.S_IXOTH):
            _print_change(f"chmod o+x {directory}")


def _add(*, path: Path, bits: int) -> bool:
    """Add permissions; permission to execute only where the owner has it. Returns whether it changed anything."""
    mode = stat.S_IMODE(path.stat().st_mode)
    new_mode = mode | (bits if mode & stat.S_IXUSR else bits & ~stat.S_IXOTH)
    if mode != new_mode:
        path.chmod(new_mode)
    return mode != new_mode


def _print_change(what: str) -> None:
    print(f"PostgreSQL does not run as root: {what}", file=sys.stderr)


def _exists(*, name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _create(*, name: str) -> bool:
    program = shutil.which("useradd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        return False
    options = ["--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"]
    useradd = subprocess.run([program, *options, name], capture_output=True)
    if useradd.returncode == 0:
        _print_change(f"created the system user {name} for it")
    return useradd.returncode == 0
