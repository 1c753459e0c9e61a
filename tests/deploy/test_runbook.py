"""docs/runbook.md: each alert has its entry, each entry its alert, and what an entry tells one to run exists."""

import re
import shlex

from django.core.management import get_commands, load_command_class

from tests.deploy.layouts import alerts, compose_commands, documents, kubernetes_commands
from tests.deploy.programs import DEPLOY, ROOT, check
from tests.deploy.unit_files import read_unit, values_of

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
ENTRIES = {
    title: text for title, _, text in (entry.partition("\n") for entry in re.split(r"^### ", RUNBOOK, flags=re.M)[1:])
}
ALERTS = alerts()


def test_each_alert_leads_to_its_entry_which_says_what_it_means_what_to_look_at_and_what_to_do() -> None:
    assert sorted(ENTRIES) == sorted(rule["alert"] for rule in ALERTS)
    for rule in ALERTS:
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"
    for title, text in ENTRIES.items():
        assert re.findall(r"^- \*\*(.+?):\*\*", text, re.M) == ["Buyers", "Look at", "Do"], title


def test_the_commands_exist_with_their_options() -> None:
    found = re.findall(r"`python manage\.py ([^`]+)`", RUNBOOK)
    assert len(found) > 5
    for line in found:
        name, *arguments = shlex.split(line.replace("ITEM", "1"))
        app = get_commands()[name]
        command = load_command_class(app, name) if isinstance(app, str) else app
        command.create_parser("manage.py", name).parse_args(arguments)


def test_commands_run_with_the_environment_of_the_processes() -> None:
    head = RUNBOOK.partition("## What buyers feel")[0].replace("\\\n", " ")
    [by_systemd] = re.findall(r"(?m)^systemd-run .+$", head)
    unit = read_unit(DEPLOY / "systemd" / "stampede-worker@.service")
    [user], [directory] = (values_of(unit, "Service", name) for name in ("User", "WorkingDirectory"))
    [state] = values_of(unit, "Service", "Environment")
    settings = values_of(unit, "Service", "EnvironmentFile")[0]
    wanted = [f"--uid={user}", f"EnvironmentFile={settings}", f"WorkingDirectory={directory}", state]
    assert set(wanted) <= set(shlex.split(by_systemd))
    assert f" {directory}/.venv/bin/python manage.py " in by_systemd
    # Not `docker compose exec`, which wants the variables of compose.yaml in each shell.
    [container] = re.findall(r"docker exec -it (\S+) python manage.py", head)
    [project] = {document["name"] for document in documents(DEPLOY / "compose.yaml")}
    assert container in {f"{project}-{service}-1" for service in compose_commands()}
    [deployment] = re.findall(r"kubectl exec -it -n stampede deployment/(\S+) -- python manage.py", head)
    assert deployment in kubernetes_commands()


def test_a_shell_can_read_the_example_of_the_environment_too() -> None:
    check("sh", "-euc", f". {DEPLOY / 'stampede.env.example'}")


def test_the_units_exist() -> None:
    units = set(re.findall(r"`(?:systemctl restart )?(stampede-[a-z]+@)([a-z0-9]+)`", RUNBOOK))
    assert len(units) > 4
    for unit, instance in units:
        assert (DEPLOY / "systemd" / f"{unit}.service").exists(), unit
        if unit == "stampede-worker@":
            assert (DEPLOY / "systemd" / f"worker-{instance}.env").exists(), instance


def test_the_words_of_the_log_are_written_somewhere() -> None:
    """An entry that names a line of the log sends somebody to look for it at night."""
    sources = "".join(path.read_text() for app in ("shop", "seckill", "orders") for path in (ROOT / app).rglob("*.py"))
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", RUNBOOK)) - {"used_memory"} - get_commands().keys()
    assert len(words) > 8
    written = re.compile(r'"(\w+)"|def (\w+)')
    known = {word for found in written.findall(sources) for word in found}
    assert [word for word in words if not word.startswith("stampede_") and word not in known] == []
