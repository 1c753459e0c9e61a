"""PostgreSQL refuses to run as root: find or make an account for it and let that account reach its files."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
from pathlib import Path

_ACCOUNT = "embedded_postgres"
_FALLBACK = "nobody"


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


def make_readable(*, tree: Path, above: Path) -> None:
    """Let other users read `tree` and pass through (not list) the directories above it and above `above`.

    Says on stderr what was changed: these may be directories that somebody closed on purpose.
    """
    places = {*tree.absolute().parents, *tree.resolve().parents, *above.resolve().parents}
    for place in sorted(places):
        _add(path=place, bits=stat.S_IXOTH, word="o+x")
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            executable = path.stat().st_mode & stat.S_IXUSR
            _add(path=path, bits=stat.S_IROTH | (stat.S_IXOTH if executable else 0), word="o+rX")


def _add(*, path: Path, bits: int, word: str) -> None:
    mode = path.stat().st_mode
    if mode & bits != bits:
        path.chmod(stat.S_IMODE(mode) | bits)
        print(f"PostgreSQL does not run as root: chmod {word} {path}", file=sys.stderr)


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
        print(f"PostgreSQL does not run as root: made the system user {name} for it", file=sys.stderr)
    return made.returncode == 0
