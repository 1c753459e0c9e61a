"""The files of `deploy/` name what the code has: queues, settings, programs, addresses of the hot calls."""

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import URLResolver, get_resolver, resolve, reverse

from shop.background.queued_tasks import QUEUES
from shop.celery import app
from shop.languages.page_language import OTHER_LANGUAGES
from tests.deploy.layouts import LAYOUTS, Commands, documents, manifests, readme_commands
from tests.deploy.programs import DEPLOY, ROOT
from tests.deploy.unit_files import read_environment_file, read_unit, values_of
from web.addresses import ITEM_CALL, LIVE, PUBLIC_PAGE, RESERVE, STATUS
from web.bodies import bytes_max

SETTINGS = (ROOT / "shop" / "settings.py").read_text()
# Of the interpreter and the container.
NOT_OURS = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "HOME"}

each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def all_queues() -> set[str]:
    app.loader.import_default_modules()
    return {*QUEUES.values(), str(app.conf.task_default_queue)}


def workers(commands: Commands) -> list[list[str]]:
    return [words for words in commands.values() if words[:5] == ["celery", "-q", "-A", "shop", "worker"]]


def queues_of(words: list[str]) -> list[str]:
    return words[words.index("-Q") + 1].split(",")


@each_layout
def test_all_parts_are_started_and_each_queue_has_one_worker(layout: str) -> None:
    commands = LAYOUTS[layout]()
    starts = [" ".join(words) for words in commands.values()]
    assert sum(start.startswith("granian --interface rsgi web.rsgi:application") for start in starts) == 2
    assert any(start.startswith("celery -q -A shop beat") for start in starts)
    assert any(start.startswith("python manage.py migrate") for start in starts)
    assert all("--no-ws" in start for start in starts if start.startswith("granian"))
    # Without it, its lines have no time.
    assert all("--log-config web/granian_logs.json" in start for start in starts if start.startswith("granian"))

    served = [queue for words in workers(commands) for queue in queues_of(words)]
    assert sorted(served) == sorted(all_queues())
    # Who waits for other companies, and who takes minutes, has a worker of its own: they delay no order.
    for words in workers(commands):
        queues = set(queues_of(words))
        assert queues <= {"payments", "mail"} or queues == {"repair"} or not queues & {"payments", "mail", "repair"}
        # One audits and one archives at most, so one is free to reconcile.
        if queues == {"repair"}:
            assert int(words[words.index("-c") + 1]) >= 3


@cache
def help_of(*program: str) -> str:
    argv = [sys.executable, "-m", *program, "--help"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT, env=dict(os.environ)).stdout


def test_the_options_of_all_layouts_and_the_readme_are_known_to_celery_and_granian() -> None:
    commands = [words for layout in LAYOUTS.values() for words in layout().values()]
    commands += [shlex.split(line, comments=True) for line in readme_commands()]
    for helped, start in (("celery -A shop worker", "celery -q -A shop worker"), ("granian", "granian")):
        options = {
            word for words in commands if " ".join(words).startswith(start) for word in words if word.startswith("--")
        }
        assert len(options) > 1
        help_text = help_of(*helped.split())
        assert [option for option in options if option not in help_text] == []


def variables() -> dict[str, set[str]]:
    """The environment variables that each file sets."""
    found = {
        "stampede.env.example": set(read_environment_file(DEPLOY / "stampede.env.example")),
        "Containerfile": set(re.findall(r"(?m)^(?:ENV|   ) (\w+)=", (DEPLOY / "Containerfile").read_text())),
        "compose.yaml": {
            name
            for service in documents(DEPLOY / "compose.yaml")[0]["services"].values()
            if service["image"] == "stampede"
            for name in service.get("environment", {})
        },
    }
    for manifest in manifests():
        data = {**manifest.get("data", {}), **manifest.get("stringData", {})}
        if manifest["kind"] in ("ConfigMap", "Secret"):
            names = set() if "nginx" in manifest["metadata"]["name"] else set(data)
            found.setdefault(manifest["kind"], set()).update(names)
        template = manifest.get("spec", {}).get("template", {}).get("spec", {})
        for container in template.get("containers", []):
            names = {entry["name"] for entry in container.get("env", [])}
            found.setdefault("containers", set()).update(names)
    for path in (DEPLOY / "systemd").glob("*.service"):
        found[path.name] = {value.partition("=")[0] for value in values_of(read_unit(path), "Service", "Environment")}
    for path in (DEPLOY / "systemd").glob("worker-*.env"):
        assert set(read_environment_file(path)) == {"QUEUES", "PROCESSES"}, path.name
    return found


def test_each_variable_is_a_setting_of_the_shop_or_of_granian() -> None:
    help_text = help_of("granian")
    assert sum(len(names) for names in variables().values()) > 30
    for file, names in variables().items():
        for name in names - NOT_OURS:
            known = f'"{name}"' in SETTINGS or (name.startswith("GRANIAN_") and f"env var: {name}" in flat(help_text))
            assert known, f"{file}: {name}"


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def hot_examples() -> list[str]:
    """A path for each route of the API that has to do with sale items and reservations."""
    return [
        "/api/v1/sale-items/7/live/",
        "/api/v1/sales/7/live/",
        "/api/v1/sale-items/7/passes/",
        "/api/v1/sale-items/7/reservations/",
        "/api/v1/reservations/0b8c2f5e-9f8a-4f6e-8f63-7f9a7c9f5d11/",
    ]


def nginx_locations() -> list[re.Pattern[str]]:
    text = (DEPLOY / "nginx" / "stampede.conf").read_text()
    return [re.compile(pattern) for pattern in re.findall(r"location ~ (\S+) \{", text)]


def test_the_front_door_and_the_proxies_know_the_same_hot_addresses() -> None:
    """Both say which calls reserve and which are live figures; HAProxy has the expressions of nginx."""
    for path in hot_examples():
        assert resolve(path).url_name, path
        assert any(location.match(path) for location in nginx_locations()), path
    haproxy = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    for ours, known in ((RESERVE, "reservations/$"), (LIVE, "live/$")):
        [nginx] = [location for location in nginx_locations() if location.pattern.endswith(known)]
        assert nginx.pattern in haproxy
        assert [path for path in hot_examples() if re.fullmatch(ours, path)] == [
            path for path in hot_examples() if nginx.match(path)
        ]
    assert all(ITEM_CALL.fullmatch(path) or STATUS.fullmatch(path) for path in hot_examples())


def test_nginx_takes_each_body_that_the_shop_takes() -> None:
    text = (DEPLOY / "nginx" / "stampede.conf").read_text()
    usual, for_staff = (int(size) << 20 for size in re.findall(r"client_max_body_size (\d+)m;", text))
    assert bytes_max("/cart/") <= usual < for_staff
    assert bytes_max("/admin/") <= for_staff
    assert re.search(r"location /admin/ \{[^}]*client_max_body_size", text)


def test_the_log_of_nginx_has_no_address_that_is_a_key() -> None:
    named = ("guest-order-pay", "reminder-confirm", "reminder-stop", "account_confirm_email")
    keys = [*(reverse(name, args=["key"]) for name in named), "/accounts/password/reset/key/1-key/"]
    unlogged = re.findall(r"location ~ (\S+) \{\s+access_log off;", (DEPLOY / "nginx" / "stampede.conf").read_text())
    for path in (f"{language}{key}" for language in ("", "/zh-hans") for key in keys):
        first = next((location.pattern for location in nginx_locations() if location.match(path)), "")
        assert first in unlogged, path


def test_every_route_below_the_hot_prefixes_is_meant() -> None:
    """A new route there would go to the hot servers without anybody deciding so."""
    routes = {route for route in routes_of(get_resolver()) if re.match(r"api/v1/(sale-items|reservations)/", route)}
    assert routes == {
        "api/v1/sale-items/<int:item_id>/challenges/",
        "api/v1/sale-items/<int:item_id>/entries/",
        "api/v1/sale-items/<int:item_id>/live/",
        "api/v1/sale-items/<int:item_id>/passes/",
        "api/v1/sale-items/<int:item_id>/reservations/",
        "api/v1/sale-items/<int:item_id>/waiting-list/",
        "api/v1/reservations/<any_uuid:reservation_id>/",
    }


def routes_of(resolver: URLResolver, prefix: str = "") -> list[str]:
    routes = []
    for entry in resolver.url_patterns:
        text = f"{prefix}{entry.pattern}"
        routes += routes_of(entry, text) if isinstance(entry, URLResolver) else [text]
    return routes


def test_the_pages_that_proxies_keep_are_those_that_the_shop_keeps() -> None:
    """Two ways to write the same paths: in web/addresses.py, and in the files of the proxies."""
    [nginx] = [pattern for pattern in nginx_locations() if "categories" in pattern.pattern]
    haproxy = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    assert f"acl public path_reg {nginx.pattern}" in haproxy
    languages = ["", *(f"{code}/" for code in OTHER_LANGUAGES)]
    pages = ["", "sales/7/", "products/", "products/longjing-tea/", "categories/tea/"]
    personal = ["cart/", "orders/", "accounts/", "search/", "sales/7/x/", "admin/", "api/v1/me/", "checkout/"]
    for language in languages:
        for page in pages:
            assert PUBLIC_PAGE.fullmatch(f"/{language}{page}"), page
            assert nginx.match(f"/{language}{page}"), page
        for page in personal:
            assert not nginx.match(f"/{language}{page}"), page
    # The home page leads on to the language that was chosen, which no cache knows.
    assert f"req.cook({settings.LANGUAGE_COOKIE_NAME})" in haproxy
    assert f"$cookie_{settings.LANGUAGE_COOKIE_NAME}" in (DEPLOY / "nginx" / "stampede.conf").read_text()


def test_documents_that_files_name_are_there() -> None:
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    for path in files:
        for name in re.findall(r"(?<![\w/])(?:docs|deploy)/[\w./-]*\w", path.read_text()):
            target = ROOT / name
            made_by_the_reader = name in ("deploy/stampede.env", "deploy/tls/tls.crt")
            assert target.exists() or made_by_the_reader, f"{path.name}: {name}"
    assert Path(DEPLOY / "Containerfile") in files
