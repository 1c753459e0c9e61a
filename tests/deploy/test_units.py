"""deploy/systemd: systemd finds nothing wrong with the units, and they keep to what the other layouts do."""

import shutil
from pathlib import Path

import pytest

from shop.background.heartbeat import INTERVAL_SECONDS
from shop.background.worker_heartbeat import TURNED_WITHIN_SECONDS
from tests.deploy.programs import DEPLOY, check, program
from tests.deploy.unit_files import read_unit, values_of

SYSTEMD = DEPLOY / "systemd"
SERVICES = sorted(SYSTEMD.glob("*.service"))
LASTING = [path for path in SERVICES if "@" in path.name]


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    """With programs that exist in place of those of the virtual environment, which systemd looks for."""
    analyze = program("systemd-analyze", package="Debian: apt install systemd")
    for path in [*SERVICES, SYSTEMD / "stampede.target", SYSTEMD / "stampede-backup.timer"]:
        text = path.read_text().replace("/srv/stampede/.venv/bin/", "/bin/../bin/true-")
        for name in ("granian", "celery", "python"):
            text = text.replace(f"/bin/../bin/true-{name}", "/bin/true")
        text = text.replace("/srv/stampede/deploy/backup/base-backup.sh", "/bin/true")
        (tmp_path / path.name).write_text(text)
    instances = {
        "stampede-web@": "8001",
        "stampede-worker@": "drain",
        "stampede-beat@": "1",
        "stampede-migrate": "",
        "stampede-prepare": "",
        "stampede-backup": "",
    }
    units = []
    for stem, instance in instances.items():
        source = tmp_path / f"{stem}.service"
        unit = tmp_path / f"{stem}{instance}.service"
        if instance:
            shutil.copy(source, unit)
        units.append(unit)
    others = [tmp_path / "stampede.target", tmp_path / "stampede-backup.timer"]
    said = check(analyze, "verify", "--man=no", *units, *others)
    # Of a value that it does not know it says that it ignores it. It speaks of the machine's other units too.
    assert not [line for line in said.splitlines() if "stampede" in line]


@pytest.mark.parametrize("path", LASTING, ids=lambda path: path.stem)
def test_a_lasting_service_is_restarted_without_end(path: Path) -> None:
    unit = read_unit(path)
    assert values_of(unit, "Service", "Restart") == ["always"]
    assert values_of(unit, "Unit", "StartLimitIntervalSec") == ["0"]
    assert values_of(unit, "Unit", "PartOf") == ["stampede.target"]
    # The target wants its units by name. A host that enables a unit without the target starts it too.
    assert values_of(unit, "Install", "WantedBy") == ["multi-user.target"]


@pytest.mark.parametrize(
    "enabled",
    [
        pytest.param(["stampede.target"], id="the whole shop"),
        pytest.param(["stampede-web@8001.service", "stampede-web@8002.service"], id="web alone"),
        pytest.param(["stampede-worker@drain.service", "stampede-beat@2.service"], id="workers and a beat"),
    ],
)
def test_what_a_host_enables_starts_with_it(enabled: list[str], tmp_path: Path) -> None:
    systemctl = program("systemctl", package="Debian: apt install systemd")
    units = tmp_path / "etc" / "systemd" / "system"
    shutil.copytree(SYSTEMD, units)
    check(systemctl, f"--root={tmp_path}", "enable", *enabled)
    started = units / "multi-user.target.wants"
    assert sorted(path.name for path in started.iterdir()) == sorted(enabled)


@pytest.mark.parametrize("path", LASTING, ids=lambda path: path.stem)
def test_a_process_that_restarts_between_two_releases_waits_for_the_new_tables(path: Path) -> None:
    # It starts too where PostgreSQL does not answer: tests/shop/databases/test_migrations_applied.py
    commands = values_of(read_unit(path), "Service", "ExecStartPre")
    assert commands == ["/srv/stampede/.venv/bin/python manage.py migrations_applied"]


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_a_unit_that_gives_signs_of_life_is_watched_for_them(name: str) -> None:
    [seconds] = values_of(read_unit(SYSTEMD / f"stampede-{name}@.service"), "Service", "WatchdogSec")
    assert int(seconds) > TURNED_WITHIN_SECONDS + 10 * INTERVAL_SECONDS


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_no_unit_is_root_or_writes_where_it_likes(path: Path) -> None:
    unit = read_unit(path)
    # A base backup is PostgreSQL's work.
    assert values_of(unit, "Service", "User") == ["postgres" if path.stem == "stampede-backup" else "stampede"]
    assert values_of(unit, "Service", "ProtectSystem") == ["strict"]
    assert values_of(unit, "Service", "NoNewPrivileges") == ["yes"]


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
