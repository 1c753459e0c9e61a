"""A variable with a wrong value stops the start with a message that names it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, override_settings
from pytest_django import Settings

from shop.configuration.database_connections import databases
from shop.configuration.message_broker import broker_settings, refuse_cluster
from shop.configuration.store_clients import redis_cache
from shop.configuration.typed_readers import (
    email_url,
    hsts,
    http_address,
    languages,
    log_level,
    optional_amount,
    optional_number,
    strict_env,
    zone,
)
from tests.steps.operating import settings_of

ADDRESSES = {"url": "postgres://u:p@host/shop", "direct_url": "", "replica_url": ""}


@contextmanager
def reading(text: str) -> Iterator[None]:
    """In the environment the variable X has this text."""
    with mock.patch.dict(os.environ, {"X": text}):
        yield


def test_a_switch_is_read_and_one_that_is_mistyped_is_not_off() -> None:
    for text, value in (("1", True), ("on", True), ("True", True), ("0", False), ("", False)):
        with reading(text):
            assert strict_env().bool("X", default=False) is value
    for text in ("ture", "2", "enabled"):
        with reading(text), pytest.raises(ImproperlyConfigured, match="X .* 1 or 0"):
            strict_env().bool("X", default=False)


def test_a_list_may_have_spaces_between_its_words() -> None:
    with reading("shop.example, localhost ,"):
        assert strict_env().list("X", default=[]) == ["shop.example", "localhost"]
    assert strict_env().list("MISSING", default=["en"]) == ["en"]
    with reading("en,fr,en"):
        assert [code for code, _name in languages(strict_env(), "X", default=[])] == ["en", "fr"]


def test_a_number_and_json_that_are_none_are_named_without_a_secret() -> None:
    with reading("many"), pytest.raises(ImproperlyConfigured, match="X .* number"):
        strict_env().int("X", default=8000)
    with reading("{secret"), pytest.raises(ImproperlyConfigured, match="X .* JSON") as refusal:
        strict_env().json("X", default={})
    assert "secret" not in str(refusal.value)


def test_a_server_that_cannot_be_read_is_named_without_its_password() -> None:
    for url in ("gopher://mail.example", "smtp://mail.example:many", "mail.example"):
        with reading(url), pytest.raises(ImproperlyConfigured, match="^X"):
            email_url(strict_env(), "X", default="consolemail://")
    for name, variable in (
        ("url", "DATABASE_URL"),
        ("direct_url", "DIRECT_DATABASE_URL"),
        ("replica_url", "REPLICA_DATABASE_URL"),
    ):
        for url in ("mysql://u:p@host/shop", "postgres://u:p@host:many/shop", "host/shop", "postgres://u:p@host:5432/"):
            with pytest.raises(ImproperlyConfigured, match=rf"^{variable} ") as refusal:
                databases(**{**ADDRESSES, name: url}, argv=[])
            assert "u:p" not in str(refusal.value)


def test_a_store_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^SECKILL_REDIS_URL "):
        redis_cache("http://store", timeout_seconds=1, setting="SECKILL_REDIS_URL")
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_URL "):
        refuse_cluster("redis://store:many", setting="REDIS_URL")
    for url in ("redis://broker:many", "broker:5672", "http://user:secret@broker/"):
        with pytest.raises(ImproperlyConfigured, match=r"^CELERY_BROKER_URL ") as refusal:
            broker_settings(url, task_seconds_max=60)
        assert "secret" not in str(refusal.value)


def test_a_zone_is_read_as_it_is_written_and_one_that_does_not_exist_is_named() -> None:
    for text in ("UTC", "Asia/Shanghai", "America/Argentina/Buenos_Aires", "Etc/GMT+8"):
        with reading(text):
            assert zone(strict_env(), "X", default="UTC") == text
    for text in ("Asia/Shangai", "Asia", "tzdata.zi", "../UTC", "", "asia/shanghai", "right/UTC"):
        with reading(text), pytest.raises(ImproperlyConfigured, match=f"X is '{re.escape(text)}'"):
            zone(strict_env(), "X", default="UTC")


def test_a_log_level_that_does_not_exist_is_named() -> None:
    with reading("LOUD"), pytest.raises(ImproperlyConfigured, match=r"X .*WARNING"):
        log_level(strict_env(), "X", default="WARNING")


def test_a_process_does_not_start_with_one() -> None:
    for name, text in (
        ("TRUSTED_PROXIES", "one"),
        ("TRUSTED_PROXIES", "-1"),
        ("EMAIL_TIMEOUT", "0"),
        ("HSTS_SECONDS", "-1"),
        # A pass of the first moment would end before the opening.
        ("SECKILL_PASS_LIFE_SECONDS", "600"),
        ("SENTRY_DSN", "errors.example/1"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
        ("ALERT_MAILS", "ops@example.com,ops"),
        ("SHOP_COUNTRY", "China"),
        ("LOW_STOCK_AT", "-1"),
        ("IMPORT_ROWS_MAX", "0"),
    ):
        with pytest.raises(ImproperlyConfigured, match=f"^{name} "):
            settings_of({**os.environ, name: text})
    command, environment = [sys.executable, "manage.py", "sale_audit"], {**os.environ, "TRUSTED_PROXIES": "one"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "TRUSTED_PROXIES must be a whole number.\n")
    for name, text in (("MEDIA_STORAGE", "storages.None"), ("MEDIA_STORAGE_OPTIONS", '{"bucket": 1}')):
        found = settings_of({**os.environ, name: text})
        with override_settings(STORAGES=found["STORAGES"]), pytest.raises(ImproperlyConfigured, match="is no storage"):
            apps.get_app_config("shop").ready()


def test_hsts_is_for_a_day_and_this_host_unless_more_is_chosen() -> None:
    assert hsts(strict_env(), https=True) == (86_400, False, False)
    assert hsts(strict_env(), https=False) == (0, False, False)
    chosen = {"HSTS_SECONDS": "31536000", "HSTS_SUBDOMAINS": "1", "HSTS_PRELOAD": "1"}
    with mock.patch.dict(os.environ, chosen):
        assert hsts(strict_env(), https=True) == (31_536_000, True, True)
    # Browsers refuse to preload less.
    for missing in ("HSTS_SECONDS", "HSTS_SUBDOMAINS"):
        less = {**chosen, missing: "0"}
        with mock.patch.dict(os.environ, less), pytest.raises(ImproperlyConfigured, match="HSTS_PRELOAD needs"):
            hsts(strict_env(), https=True)


def test_the_answer_says_what_was_chosen(client: Client, settings: Settings) -> None:
    found = settings_of({**os.environ, "HTTPS": "1", "HSTS_SECONDS": "600"})
    names = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD", "SECURE_PROXY_SSL_HEADER")
    for name in names:
        setattr(settings, name, found[name])
    answer = client.get("/healthz", headers={"X-Forwarded-Proto": "https"})
    assert answer["Strict-Transport-Security"] == "max-age=600"


def test_a_bound_is_a_number_or_nothing() -> None:
    with mock.patch.dict(os.environ, {"A": "", "B": "80", "C": "500", "D": "99.90"}):
        env = strict_env()
        assert [optional_number(env, name) for name in ("A", "B", "MISSING")] == [None, 80, None]
        assert optional_amount(env, "A", currency="CNY") is None
        assert optional_amount(env, "C", currency="CNY") == 50_000
        assert optional_amount(env, "C", currency="JPY") == 500
        assert optional_amount(env, "D", currency="CNY") == 9_990
    for text in ("-1", "many", "1e3", "99.901", "五"):
        with reading(text):
            with pytest.raises(ImproperlyConfigured, match="^X"):
                optional_amount(strict_env(), "X", currency="CNY")
            with pytest.raises(ImproperlyConfigured, match="^X"):
                optional_number(strict_env(), "X")


def test_an_address_or_none_is_read_and_another_text_is_named_without_its_secret() -> None:
    with reading("https://chat.example.com/hooks/1"):
        assert http_address(strict_env(), "X") == "https://chat.example.com/hooks/1"
        assert http_address(strict_env(), "MISSING") == ""
    for text in ("ftp://chat/secret", "chat/secret", "https://", "https://chat:99999/secret", "https://a b/"):
        with reading(text), pytest.raises(ImproperlyConfigured, match="^X") as refused:
            http_address(strict_env(), "X")
        assert "secret" not in str(refused.value)
