"""`check --deploy` names what a shop lacks that would start and could not sell, with what to set or to run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.files.storage import storages
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import override_settings
from pytest_django import Settings

from orders.apps import check_payments
from shop import deploy_checks
from shop.configuration.store_clients import redis_cache
from shop.http import health
from shop.languages import translations
from shop.local.ports import free_port
from tests.own_store import running
from tests.steps.operating import check_in
from tests.steps.store import store_away


def told(messages: Iterator[CheckMessage] | list[CheckMessage]) -> dict[str, str]:
    """What each check says, with what to do, by its id."""
    return {str(message.id): f"{message.msg} {message.hint}" for message in messages}


def test_an_address_that_nobody_reaches_is_an_error() -> None:
    right = {"HTTPS": True, "TRUSTED_PROXIES": 1, "SHOP_URL": "https://shop.example"}
    right |= {"ALLOWED_HOSTS": ["shop.example", "localhost"]}
    with override_settings(**right):
        assert told(deploy_checks.check_addresses()) == {}
        for name, value, code, words in (
            ("SHOP_URL", "http://127.0.0.1:8000", "shop.E005", "Set SHOP_URL"),
            ("HTTPS", False, "shop.W002", "set HTTPS=1"),
            ("SHOP_URL", "https://[::1]", "shop.E005", "Set SHOP_URL"),
            ("SHOP_URL", "https://localhost", "shop.E005", "Set SHOP_URL"),
            ("SHOP_URL", "https://other.example", "shop.E006", "Add other.example to ALLOWED_HOSTS"),
            ("SHOP_URL", "http://shop.example", "shop.E007", "SHOP_URL begin with https://"),
            ("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], "shop.E008", "Set ALLOWED_HOSTS"),
            ("TRUSTED_PROXIES", 0, "shop.E009", "Set TRUSTED_PROXIES"),
        ):
            with override_settings(**{name: value}):
                assert words in told(deploy_checks.check_addresses())[code], (name, value)


def test_mails_that_stay_here_are_an_error(settings: Settings) -> None:
    settings.DEFAULT_FROM_EMAIL = "shop@shop.example"
    for kind in ("console", "filebased", "locmem", "dummy"):
        settings.EMAIL_BACKEND = f"django.core.mail.backends.{kind}.EmailBackend"
        assert "Set EMAIL_URL" in told(deploy_checks.check_mail())["shop.E010"], kind
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert told(deploy_checks.check_mail()) == {}
    for sender in ("Stampede <shop@localhost>", "Shop", ""):
        settings.DEFAULT_FROM_EMAIL = sender
        assert "Set DEFAULT_FROM_EMAIL" in told(deploy_checks.check_mail())["shop.W001"], sender


def test_a_shop_in_which_nobody_can_pay_is_a_warning(settings: Settings) -> None:
    settings.PAYMENT_PROVIDERS = []
    settings.LOAD_TESTS = False
    assert "Set PAYMENT_PROVIDERS" in told(check_payments())["orders.W002"]


def test_a_cache_or_broker_that_is_away_is_an_error(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(deploy_checks.check_servers()) == {}
    former = store_away(settings, "default")
    assert "set REDIS_URL" in told(deploy_checks.check_servers())["shop.E011"]
    settings.CACHES = former
    monkeypatch.setitem(health.SOURCES, "broker", lambda: 1 / 0)
    assert "set CELERY_BROKER_URL" in told(deploy_checks.check_servers())["shop.E011"]


def test_the_reservation_store_is_for_reservations_alone(settings: Settings) -> None:
    for store, cache, shared in (
        ("redis://one:7000/0", "redis://one:7000/1", True),
        ("redis://one:7000/0", "redis://one:7001/0", False),
        ("redis+sentinel://one,two/sale", "redis+sentinel://two,one/sale/1", True),
        ("redis+sentinel://one,two/sale", "redis+sentinel://one,two/cache", False),
    ):
        settings.SECKILL_REDIS_URL = store
        settings.BROKER_URL = settings.REDIS_URL = cache
        found = told(deploy_checks.check_servers())
        assert ("set REDIS_URL" in found.get("shop.E012", "")) == shared, cache
        settings.REDIS_URL = "redis://other"
        found = told(deploy_checks.check_servers())
        assert ("set CELERY_BROKER_URL" in found.get("shop.E012", "")) == shared, cache


def test_a_replica_in_place_of_its_primary_is_an_error(server_directory: Path, settings: Settings) -> None:
    """It answers, with the settings of its primary, and takes no reservation and no session."""
    with running(server_directory) as server:
        replica = redis_cache(server.url, timeout_seconds=1.0)
        settings.CACHES = {**settings.CACHES, "default": replica, "seckill": replica}
        assert "shop.E016" not in told(deploy_checks.check_servers())
        server.client.replicaof("127.0.0.1", free_port())
        found = [str(message.hint) for message in deploy_checks.check_servers() if message.id == "shop.E016"]
    assert [hint.split()[1] for hint in found] == ["REDIS_URL", "SECKILL_REDIS_URL"]


@pytest.mark.django_db
def test_servers_that_are_too_old_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL 14 migrates, and leaves out what keeps a mail from being sent twice."""
    old = {"role": "master", "redis_version": "6.2.14"}
    monkeypatch.setattr(deploy_checks, "info_of", lambda alias: old if alias == "seckill" else {})
    monkeypatch.setattr(connection, "pg_version", 140_012)
    for check, server in ((deploy_checks.check_servers, "Redis 7.0"), (deploy_checks.check_tables, "PostgreSQL 15")):
        assert server in told(check())["shop.E017"]


@pytest.mark.django_db
def test_tables_of_an_earlier_release_are_an_error() -> None:
    def found() -> dict[str, str]:
        return told(run_checks(tags=["tables"], include_deployment_checks=True))

    assert found() == {}
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE shop_historicalcategory DROP COLUMN name_zh_hans")
    assert "name_zh_hans" in found()["shop.E018"]
    ((app, last),) = MigrationLoader(connection).graph.leaf_nodes("orders")
    MigrationRecorder(connection).record_unapplied(app, last)
    assert f"{app}.{last}" in found()["shop.E013"]
    assert "manage.py migrate" in found()["shop.E013"]


def test_translations_that_are_not_compiled_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8"\n', encoding="utf-8")
    monkeypatch.setattr(translations, "LOCALE", tmp_path)
    assert "zh_Hans" in told(deploy_checks.check_files())["shop.E014"]
    translations.compile_translations()
    assert "shop.E014" not in told(deploy_checks.check_files())
    os.utime(catalogue, (catalogue.stat().st_mtime + 60,) * 2)
    assert "manage.py compilemessages" in told(deploy_checks.check_files())["shop.E014"]


def test_static_files_that_are_not_collected_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storages["staticfiles"], "hashed_files", {})
    assert "manage.py collectstatic" in told(deploy_checks.check_files())["shop.E015"]


def test_a_shop_in_an_empty_folder_without_servers_hears_all_at_once(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("SECKILL_REDIS_URL", "REDIS_URL"), "redis://127.0.0.1:1/0")
    nowhere["DATABASE_URL"] = "postgres://nobody:none@127.0.0.1:1/none"
    code, printed = check_in(
        str(tmp_path),
        "--deploy",
        **{"SHOP_URL": "http://127.0.0.1:8000", "EMAIL_URL": "consolemail://", "TRUSTED_PROXIES": "0"},
        **nowhere,
    )
    assert code == 1
    named = ("shop.E005", "shop.E009", "shop.E010", "shop.E011", "shop.E015", "seckill.E002", "seckill.E003")
    assert [name for name in named if f"({name})" not in printed] == []
    assert "Traceback" not in printed
