"""What an operator does: the commands of manage.py, in this process or in one of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from shop.configuration.static_files import NeededStaticFiles

ROOT = Path(__file__).resolve().parents[2]


def run_command(name: str, *arguments: str) -> str:
    """What a command prints, run in this process."""
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def settings_of(environment: Mapping[str, str], *, argv: Sequence[str] = ("celery",)) -> dict[str, Any]:
    """The settings of a process that starts with this environment alone, or what it dies of.

    And, as `environ`, the environment that programs which it starts would have.
    """
    with mock.patch.dict(os.environ, environment, clear=True), mock.patch.object(sys, "argv", [*argv]):
        spec = spec_from_file_location("settings_of_a_test", ROOT / "shop" / "settings.py")
        assert spec
        assert spec.loader
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return {**vars(module), "environ": {**os.environ}}


def figure_at(client: Client, name: str) -> float | None:
    """The value of the metric, with its labels as they stand at /metrics; None if it has none."""
    lines = client.get("/metrics").text.splitlines()
    found = [line.rpartition(" ")[2] for line in lines if line.rpartition(" ")[0] == name]
    return float(found[0]) if found else None


def answers_by_route(client: Client) -> dict[str, float]:
    """How many each endpoint has given, as Prometheus reads it at /metrics."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    [family] = [one for one in families if one.name == "stampede_endpoint_seconds"]
    return {one.labels["endpoint"]: one.value for one in family.samples if one.name.endswith("_count")}


def waiting_for_locks() -> int:
    """How many connections to the database of the test wait for another one."""
    with connection.cursor() as cursor:
        # Without it, a transaction sees the connections that it has seen before.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) "
            "WHERE NOT granted AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])


def real_shop() -> dict[str, str]:
    """The settings that the README asks of a real shop. Its mails and payments go nowhere."""
    return {
        "HTTPS": "1",
        "DEBUG": "0",
        "LOAD_TESTS": "0",
        "TRUSTED_PROXIES": "1",
        "SHOP_URL": "https://shop.example",
        "ALLOWED_HOSTS": "shop.example,localhost",
        "EMAIL_URL": "smtp+tls://shop:secret@mail.example:587",
        "DEFAULT_FROM_EMAIL": "Shop <shop@shop.example>",
        "PAYMENT_PROVIDERS": "stripe",
        "STRIPE_SECRET_KEY": "sk_test_x",
        "STRIPE_WEBHOOK_SECRET": "whsec_x",
    }


def list_static_files(directory: Path) -> None:
    """Write what `collectstatic` leaves for a STAMPEDE_DIRECTORY, without the files, which take it many seconds."""
    left_out = NeededStaticFiles.ignore_patterns
    names = [name for finder in get_finders() for name, _storage in finder.list(left_out)]
    (directory / "static").mkdir(parents=True)
    manifest = {"version": "1.1", "hash": "", "paths": dict(zip(names, names, strict=True))}
    (directory / "static" / "staticfiles.json").write_text(json.dumps(manifest))


def check_in(directory: str, *arguments: str, **changes: str) -> tuple[int, str]:
    """Exit code and all that `manage.py check` printed on a real shop in this folder."""
    environment = {**os.environ, **real_shop(), "STAMPEDE_DIRECTORY": directory, **changes}
    # The browser tests set it for themselves, in the process that runs us all.
    environment.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "check", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout
