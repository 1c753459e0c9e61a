"""A variable with a wrong value stops the start with a message that names it."""

import os
import re
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django import Settings

from shop.configuration.database_connections import databases
from shop.configuration.message_broker import broker_settings, refuse_cluster
from shop.configuration.store_clients import redis_cache
from shop.configuration.typed_readers import (
    email_url,
    hsts,
    http_address,
    log_level,
    optional_amount,
    optional_number,
    strict_env,
    zone,
)
from tests.steps.operating import settings_of

ADDRESSES = {"url": "postgres://u:p@host/shop", "direct_url": "", "replica_url": ""}


@pytest.mark.parametrize(("text", "value"), [("1", True), ("on", True), ("True", True), ("0", False), ("", False)])
def test_a_switch_is_read(text: str, value: bool) -> None:
    with mock.patch.dict(os.environ, {"HTTPS": text}):
        assert strict_env().bool("HTTPS", default=False) is value


@pytest.mark.parametrize("text", ["ture", "2", "enabled"])
def test_a_switch_that_is_mistyped_is_not_off(text: str) -> None:
    with mock.patch.dict(os.environ, {"HTTPS": text}), pytest.raises(ImproperlyConfigured, match="HTTPS .* 1 or 0"):
        strict_env().bool("HTTPS", default=False)


def test_a_number_that_is_none_is_named() -> None:
    with mock.patch.dict(os.environ, {"PORT": "many"}), pytest.raises(ImproperlyConfigured, match="PORT .* number"):
        strict_env().int("PORT", default=8000)


def test_json_that_is_none_is_named_without_its_value() -> None:
    with (
        mock.patch.dict(os.environ, {"MEDIA_STORAGE_OPTIONS": "{secret"}),
        pytest.raises(ImproperlyConfigured, match="MEDIA_STORAGE_OPTIONS .* JSON") as refusal,
    ):
        strict_env().json("MEDIA_STORAGE_OPTIONS", default={})
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("url", ["gopher://mail.example", "smtp://mail.example:many", "mail.example"])
def test_a_mail_server_that_cannot_be_read_is_named(url: str) -> None:
    with mock.patch.dict(os.environ, {"EMAIL_URL": url}), pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        email_url(strict_env(), "EMAIL_URL", default="consolemail://")


@pytest.mark.parametrize("url", ["mysql://u:p@host/shop", "postgres://u:p@host:many/shop", "host/shop"])
@pytest.mark.parametrize("name", ["url", "direct_url", "replica_url"])
def test_a_database_that_cannot_be_read_is_named(name: str, url: str) -> None:
    variable = {"url": "DATABASE_URL", "direct_url": "DIRECT_DATABASE_URL", "replica_url": "REPLICA_DATABASE_URL"}[name]
    with pytest.raises(ImproperlyConfigured, match=rf"^{variable} ") as refusal:
        databases(**{**ADDRESSES, name: url}, argv=[])
    assert "u:p" not in str(refusal.value)


def test_a_store_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^SECKILL_REDIS_URL "):
        redis_cache("http://store", timeout_seconds=1, setting="SECKILL_REDIS_URL")
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_URL "):
        refuse_cluster("redis://store:many", setting="REDIS_URL")
    with pytest.raises(ImproperlyConfigured, match=r"^CELERY_BROKER_URL "):
        broker_settings("redis://broker:many", task_seconds_max=60)


@pytest.mark.parametrize("text", ["Asia/Shangai", "Asia", "tzdata.zi", "../UTC", "", "asia/shanghai", "right/UTC"])
def test_a_zone_that_does_not_exist_is_named(text: str) -> None:
    with (
        mock.patch.dict(os.environ, {"TIME_ZONE": text}),
        pytest.raises(ImproperlyConfigured, match=f"TIME_ZONE is '{re.escape(text)}'"),
    ):
        zone(strict_env(), "TIME_ZONE", default="UTC")


@pytest.mark.parametrize("text", ["UTC", "Asia/Shanghai", "America/Argentina/Buenos_Aires", "Etc/GMT+8"])
def test_a_zone_is_read_as_it_is_written(text: str) -> None:
    with mock.patch.dict(os.environ, {"TIME_ZONE": text}):
        assert zone(strict_env(), "TIME_ZONE", default="UTC") == text


def test_a_log_level_that_does_not_exist_is_named() -> None:
    with (
        mock.patch.dict(os.environ, {"LOG_LEVEL": "LOUD"}),
        pytest.raises(ImproperlyConfigured, match=r"LOG_LEVEL .*WARNING"),
    ):
        log_level(strict_env(), "LOG_LEVEL", default="WARNING")


def test_a_process_does_not_start_with_one() -> None:
    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES"):
        settings_of({**os.environ, "TRUSTED_PROXIES": "one"})


def test_hsts_is_for_a_day_and_this_host_unless_more_is_chosen() -> None:
    assert hsts(strict_env(), https=True) == (86_400, False, False)
    assert hsts(strict_env(), https=False) == (0, False, False)
    chosen = {"HSTS_SECONDS": "31536000", "HSTS_SUBDOMAINS": "1", "HSTS_PRELOAD": "1"}
    with mock.patch.dict(os.environ, chosen):
        assert hsts(strict_env(), https=True) == (31_536_000, True, True)


@pytest.mark.parametrize("missing", ["HSTS_SECONDS", "HSTS_SUBDOMAINS"])
def test_preloading_that_browsers_refuse_is_refused(missing: str) -> None:
    chosen = {"HSTS_SECONDS": "31536000", "HSTS_SUBDOMAINS": "1", "HSTS_PRELOAD": "1", missing: "0"}
    with mock.patch.dict(os.environ, chosen), pytest.raises(ImproperlyConfigured, match="HSTS_PRELOAD needs"):
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


@pytest.mark.parametrize("text", ["-1", "many", "1e3", "99.901", "五"])
def test_a_bound_that_is_none_is_named(text: str) -> None:
    with mock.patch.dict(os.environ, {"BOUND": text}):
        with pytest.raises(ImproperlyConfigured, match="BOUND"):
            optional_amount(strict_env(), "BOUND", currency="CNY")
        with pytest.raises(ImproperlyConfigured, match="BOUND"):
            optional_number(strict_env(), "BOUND")


@pytest.mark.parametrize(
    "text", ["ftp://chat/secret", "chat/secret", "https://", "https://chat:99999/secret", "https://a b/"]
)
def test_an_address_that_is_none_is_named_without_its_secret(text: str) -> None:
    with mock.patch.dict(os.environ, {"HOOK": text}), pytest.raises(ImproperlyConfigured, match="HOOK") as refused:
        http_address(strict_env(), "HOOK")
    assert "secret" not in str(refused.value)


def test_an_address_or_none_is_read() -> None:
    with mock.patch.dict(os.environ, {"HOOK": "https://chat.example.com/hooks/1"}):
        assert http_address(strict_env(), "HOOK") == "https://chat.example.com/hooks/1"
        assert http_address(strict_env(), "MISSING") == ""
