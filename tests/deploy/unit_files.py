"""Units of systemd, read from their files, and run as plain processes where there is no systemd."""

import os
import re
import shlex
import socket
from dataclasses import dataclass, field
from pathlib import Path

from shop.local.process import Process

Unit = list[tuple[str, str, str]]


def read_unit(path: Path) -> Unit:
    """Section, name and value of each line, in their order."""
    lines: Unit = []
    section = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            lines.append((section, name, value))
    return lines


def values_of(unit: Unit, section: str, name: str) -> list[str]:
    return [value for where, what, value in unit if (where, what) == (section, name)]


@dataclass(frozen=True, kw_only=True)
class Host:
    """Where the files of a unit are on the machine of the test: by their prefixes."""

    places: dict[str, Path]
    # Of the test's own servers; they win over files, as nothing else may decide where a test writes.
    environment: dict[str, str] = field(default_factory=dict)

    def place(self, path: str) -> Path:
        prefix = max((prefix for prefix in self.places if path.startswith(prefix)), key=len)
        return self.places[prefix] / path.removeprefix(prefix).lstrip("/")

    def environment_of(self, unit: Unit, *, instance: str) -> dict[str, str]:
        """Environment= and EnvironmentFile=, over what the test's own process has."""
        values: dict[str, str] = {}
        for name, value in ((name, value) for where, name, value in unit if where == "Service"):
            text = value.replace("%i", instance)
            if name == "Environment":
                variable, _, content = text.partition("=")
                values[variable] = str(self.place(content)) if content.startswith("/") else content
            elif name == "EnvironmentFile":
                path = self.place(text.removeprefix("-"))
                assert text.startswith("-") or path.exists(), f"{text} is missing"
                values |= read_environment_file(path)
        return {**os.environ, **values, **self.environment}

    def commands_of(self, unit: Unit, *, instance: str, environment: dict[str, str]) -> list[list[str]]:
        """The words of each ExecStart=, as systemd would have them."""
        commands = []
        for line in values_of(unit, "Service", "ExecStart"):
            text = line.replace("%i", instance).replace("%H", socket.gethostname())
            words = [re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word) for word in shlex.split(text)]
            commands.append([str(self.place(words[0])), *words[1:]])
        return commands

    def process(self, path: Path, *, instance: str, logs: Path) -> Process:
        """The process of a unit, not started. It is ready when the test says so."""
        unit = read_unit(path)
        environment = self.environment_of(unit, instance=instance)
        [command] = self.commands_of(unit, instance=instance, environment=environment)
        for name in values_of(unit, "Service", "RuntimeDirectory"):
            self.place(f"/run/{name.replace('%i', instance)}").mkdir(parents=True, exist_ok=True)
        name = f"{path.stem}{instance}"
        return Process(
            name=name,
            title=name,
            argv=command,
            log_path=logs / f"{name}.log",
            ready=lambda _: True,
            environment=environment,
            directory=self.directory_of(unit),
            stop_seconds=10.0,
        )

    def directory_of(self, unit: Unit) -> Path:
        [directory] = values_of(unit, "Service", "WorkingDirectory")
        return self.place(directory)


def read_environment_file(path: Path) -> dict[str, str]:
    """As systemd reads it: a value may stand in quotes. Empty if there is no such file."""
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: value.strip('"') for name, _, value in pairs}
