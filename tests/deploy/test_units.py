"""deploy/systemd: systemd finds nothing wrong with the units, and they keep to what the other layouts do."""

import re
import shutil
from pathlib import Path

from shop.background.heartbeat import INTERVAL_SECONDS
from shop.background.worker_heartbeat import TURNED_WITHIN_SECONDS
from tests.deploy.programs import DEPLOY, check, program
from tests.deploy.unit_files import read_unit, values_of

SYSTEMD = DEPLOY / "systemd"
SERVICES = sorted(SYSTEMD.glob("*.service"))
LASTING = [path for path in SERVICES if "@" in path.name]


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    """With a program that exists in place of each of ours, which systemd looks for."""
    analyze = program("systemd-analyze", package="Debian: apt install systemd")
    instances = {"stampede-web@": "8001", "stampede-worker@": "drain", "stampede-beat@": "1"}
    units = []
    for path in [*SERVICES, SYSTEMD / "stampede.target", SYSTEMD / "stampede-backup.timer"]:
        text = re.sub(r"/srv/stampede/(\.venv/bin/\w+|deploy/backup/base-backup\.sh)", "/bin/true", path.read_text())
        # The template, which the target wants, and one of it.
        for name in {path.name, f"{path.stem}{instances.get(path.stem, '')}{path.suffix}"}:
            (tmp_path / name).write_text(text)
        units.append(tmp_path / f"{path.stem}{instances.get(path.stem, '')}{path.suffix}")
    said = check(analyze, "verify", "--man=no", *units)
    # Of a value that it does not know it says that it ignores it. It speaks of the machine's other units too.
    assert not [line for line in said.splitlines() if "stampede" in line]


def test_a_lasting_service_is_restarted_without_end_and_waits_for_new_tables_between_two_releases() -> None:
    for path in LASTING:
        unit = read_unit(path)
        assert values_of(unit, "Service", "Restart") == ["always"], path.stem
        assert values_of(unit, "Unit", "StartLimitIntervalSec") == ["0"], path.stem
        assert values_of(unit, "Unit", "PartOf") == ["stampede.target"], path.stem
        # The target wants its units by name. A host that enables a unit without the target starts it too.
        assert values_of(unit, "Install", "WantedBy") == ["multi-user.target"], path.stem
        # It starts too where PostgreSQL does not answer: tests/shop/databases/test_migrations_applied.py
        waits = values_of(unit, "Service", "ExecStartPre")
        assert waits == ["/srv/stampede/.venv/bin/python manage.py migrations_applied"], path.stem


def test_what_a_host_enables_starts_with_it(tmp_path: Path) -> None:
    """The whole shop, web alone, workers and a beat."""
    systemctl = program("systemctl", package="Debian: apt install systemd")
    for enabled in (
        ["stampede.target"],
        ["stampede-web@8001.service", "stampede-web@8002.service"],
        ["stampede-beat@2.service", "stampede-worker@drain.service"],
    ):
        root = tmp_path / enabled[0]
        units = root / "etc" / "systemd" / "system"
        shutil.copytree(SYSTEMD, units)
        check(systemctl, f"--root={root}", "enable", *enabled)
        assert sorted(path.name for path in (units / "multi-user.target.wants").iterdir()) == enabled


def test_a_unit_that_gives_signs_of_life_is_watched_for_them() -> None:
    for name in ("worker", "beat"):
        [seconds] = values_of(read_unit(SYSTEMD / f"stampede-{name}@.service"), "Service", "WatchdogSec")
        assert int(seconds) > TURNED_WITHIN_SECONDS + 10 * INTERVAL_SECONDS, name


def test_no_unit_is_root_or_writes_where_it_likes() -> None:
    for path in SERVICES:
        unit = read_unit(path)
        # A base backup is PostgreSQL's work.
        user = "postgres" if path.stem == "stampede-backup" else "stampede"
        assert values_of(unit, "Service", "User") == [user], path.stem
        assert values_of(unit, "Service", "ProtectSystem") == ["strict"], path.stem
        assert values_of(unit, "Service", "NoNewPrivileges") == ["yes"], path.stem


def test_each_host_has_the_files_of_the_release_and_not_only_the_one_that_migrates() -> None:
    for path in LASTING:
        unit = read_unit(path)
        for name in ("Wants", "After"):
            assert "stampede-prepare.service" in " ".join(values_of(unit, "Unit", name)).split(), f"{path.name}: {name}"
    commands = " ".join(values_of(read_unit(SYSTEMD / "stampede-prepare.service"), "Service", "ExecStart"))
    assert "manage.py compilemessages" in commands
    assert "collectstatic --noinput" in commands
    # Without --clear: the files of the release before are asked for by its pages.
    assert "--clear" not in commands
    assert values_of(read_unit(SYSTEMD / "stampede-migrate.service"), "Service", "ExecStart") == [
        "/srv/stampede/.venv/bin/python manage.py migrate --noinput"
    ]


def test_a_web_server_drains_before_it_ends() -> None:
    unit = read_unit(SYSTEMD / "stampede-web@.service")
    environment = dict(value.split("=", 1) for value in values_of(unit, "Service", "Environment"))
    [directory] = values_of(unit, "Service", "RuntimeDirectory")
    assert environment["DRAIN_FILE"].startswith(f"/run/{directory}/")
    [stop] = values_of(unit, "Service", "ExecStop")
    assert 'touch "$$DRAIN_FILE"' in stop
    [command] = values_of(unit, "Service", "ExecStart")
    [timeout] = values_of(unit, "Service", "TimeoutStopSec")
    assert int(timeout) > 5 + int(command.split("--workers-kill-timeout ")[1].split()[0])
