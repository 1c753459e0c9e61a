"""The pre-flight of a sale: what is well is said, what is not is named with what to do, and nothing is changed."""

import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone, translation
from kombu.exceptions import OperationalError as BrokerAway
from pytest_django import Settings
from redis import Redis

from orders.payments.provider_choice import provider_named
from orders.preflight import preflight, process_looks, sale_looks, server_looks
from orders.preflight.finding import Finding, Verdict
from orders.repair.audit import RESULT_KEY, remember_result
from seckill.models import Sale, SaleItem
from seckill.store.keys import keys_of
from shop.models import Product, StockChange
from tests.orders.payments.stripe_server import stripe_server
from tests.own_store import OwnStore, as_reservation_store, running
from tests.steps.operating import run_command
from tests.steps.shop import make_item, other_item

pytestmark = pytest.mark.django_db(transaction=True)


def words(findings: Iterator[Finding]) -> list[tuple[str, str]]:
    return [(finding.verdict.value, str(finding.text)) for finding in findings]


def verdicts(findings: Iterator[Finding]) -> list[str]:
    return [finding.verdict.value for finding in findings]


def test_the_window_is_said_in_words_and_in_the_shops_zone(product: Product, settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    item = make_item(product, opens_in_seconds=2 * 3600 + 60, closes_in_seconds=3 * 3600)
    ((verdict, text),) = words(sale_looks.look_at_window(item.sale))
    assert verdict == "good"
    assert "(Asia/Shanghai, UTC+08:00). It opens in 2\xa0hours." in text
    assert f"{timezone.localtime(item.sale.opens_at):%A, %B %-d, %Y, %H:%M}" in text


def test_a_pause_and_an_end_are_stops_and_a_pause_of_one_item_a_warning(item: SaleItem) -> None:
    SaleItem.objects.update(paused=True)
    found = words(sale_looks.look_at_window(item.sale))
    assert [verdict for verdict, _text in found] == ["good", "warning"]
    assert "Longjing tea" in found[1][1]
    SaleItem.objects.update(paused=False)
    item.sale.paused = True
    assert verdicts(sale_looks.look_at_window(item.sale)) == ["good", "stop"]
    item.sale.closes_at = timezone.now() - timedelta(seconds=1)
    assert verdicts(sale_looks.look_at_window(item.sale)) == ["stop", "stop"]


def test_a_draft_is_tried_by_the_rules_of_the_button_and_stays_a_draft(product: Product) -> None:
    item = make_item(product, quantity=5, published=False)
    changes = StockChange.objects.count()
    assert verdicts(sale_looks.look_at_terms(item.sale)) == ["warning"]
    SaleItem.objects.filter(pk=item.pk).update(quantity=2_000_000_000)
    ((verdict, text),) = words(sale_looks.look_at_terms(item.sale))
    assert verdict == "stop"
    assert "in stock" in text
    item.sale.refresh_from_db()
    assert item.sale.published_at is None
    assert StockChange.objects.count() == changes


def test_a_published_item_that_the_store_has_not_got_is_a_stop_and_one_without_a_limit_is_asked_about(
    item: SaleItem,
) -> None:
    assert verdicts(sale_looks.look_at_terms(item.sale)) == ["good"]
    assert verdicts(sale_looks.look_at_terms(other_item(quantity=None).sale)) == ["good", "warning"]
    SaleItem.objects.filter(pk=item.pk).update(announced_at=None)
    assert verdicts(sale_looks.look_at_terms(item.sale)) == ["stop"]


def test_names_that_a_language_lacks_are_listed(item: SaleItem) -> None:
    sale, of_item = item.sale, item.variant.product
    for things in (Sale.objects.all(), Product.objects.all()):
        things.update(name_en="Tea", name_zh_hans="茶")
    sale.refresh_from_db()
    assert verdicts(sale_looks.look_at_languages(sale)) == ["good"]
    Product.objects.filter(pk=of_item.pk).update(name_zh_hans="")
    ((verdict, text),) = words(sale_looks.look_at_languages(sale))
    assert (verdict, text.count("(zh_hans)")) == ("warning", 1)


def test_what_only_matters_to_real_customers_is_for_later_in_a_shop_that_its_own_machine_alone_reaches(
    item: SaleItem, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SHOP_URL, settings.ALLOWED_HOSTS = "http://127.0.0.1:8000", ["127.0.0.1"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.PAYMENT_PROVIDERS = ["simulated"]
    for run, verdict in (("loopback", Verdict.LATER), ("open", Verdict.STOP)):
        monkeypatch.setenv("STAMPEDE_RUN", run)
        found = list(server_looks.look_at_settings(item.sale))
        for start in (
            "SHOP_URL is",
            "ALLOWED_HOSTS has",
            "No mail reaches a buyer",
            "The payment provider “simulated”",
        ):
            (finding,) = [each for each in found if str(each.text).startswith(start)]
            assert finding.verdict is verdict, (run, start)
            assert finding.todo, start


def test_the_command_counts_what_is_for_later_as_a_stop(
    item: SaleItem, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STAMPEDE_RUN", "loopback")
    monkeypatch.setattr(preflight, "LOOKS", [preflight.Look("Settings", server_looks.look_at_settings)])
    settings.SHOP_URL = "http://127.0.0.1:8000"
    with pytest.raises(SystemExit) as ended:
        call_command("sale_preflight", str(item.sale_id))
    assert ended.value.code == 1
    assert "✗ SHOP_URL is http://127.0.0.1:8000" in capsys.readouterr().out


def test_a_deploy_check_is_a_line_with_its_hint_in_the_language_of_its_reader(settings: Settings) -> None:
    settings.SHOP_URL = "http://127.0.0.1:8000"
    found = list(server_looks.look_at_settings(Sale()))
    (finding,) = [each for each in found if str(each.text).startswith("SHOP_URL is http")]
    assert finding.verdict is Verdict.STOP
    assert "Set SHOP_URL to the address" in str(finding.todo)
    assert "links in mails, and the way back from payment" in str(finding.text)
    with translation.override("zh-hans"):
        assert "邮件中的链接和付款后的返回地址都会指向本机" in str(finding.text)


def test_the_clocks_of_all_servers_are_compared(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdicts(server_looks.look_at_clocks(item.sale)) == ["good"]
    monkeypatch.setattr(timezone, "now", lambda: real_now() + timedelta(minutes=1))
    found = words(server_looks.look_at_clocks(item.sale))
    assert [verdict for verdict, _text in found] == ["warning", "warning"]
    assert "The clock of PostgreSQL is 60.0 s behind" in found[1][1]


real_now = timezone.now


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[OwnStore]:
    with running(tmp_path) as store, as_reservation_store(store):
        yield store


def test_the_memory_of_the_store_is_compared_with_the_units(small_store: OwnStore, product: Product) -> None:
    item = make_item(product, quantity=5)
    used = small_store.client.info("memory")["used_memory"]
    small_store.client.config_set("maxmemory", used * 3)
    assert verdicts(server_looks.look_at_memory(item.sale)) == ["good"]
    SaleItem.objects.filter(pk=item.pk).update(quantity=used)
    assert verdicts(server_looks.look_at_memory(item.sale)) == ["stop"]
    small_store.client.config_set("maxmemory", 0)
    assert verdicts(server_looks.look_at_memory(item.sale)) == ["warning"]


@pytest.mark.slow
def test_stores_that_differ_are_a_stop(item: SaleItem, store: Redis) -> None:
    assert verdicts(server_looks.look_at_stock(item.sale)) == ["good"]
    store.hincrby(keys_of(item.pk).item, "left", -1)
    ((verdict, text),) = words(server_looks.look_at_stock(item.sale))
    assert verdict == "stop"
    assert "differ about" in text


def test_an_audit_that_does_not_come_means_that_beat_is_away(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_looks, "silent_queues", lambda: [])
    cache.delete(RESULT_KEY)
    assert verdicts(process_looks.look_at_workers(item.sale)) == ["good", "stop"]
    # `make run` starts beat again by itself, so there it has just started.
    monkeypatch.setenv("STAMPEDE_RUN", "loopback")
    assert verdicts(process_looks.look_at_workers(item.sale)) == ["good", "warning"]
    remember_result(problems_of_item={})
    assert verdicts(process_looks.look_at_workers(item.sale)) == ["good", "good"]
    monkeypatch.setattr(process_looks, "AUDIT_AGE_SECONDS_MAX", 0)
    assert verdicts(process_looks.look_at_workers(item.sale)) == ["good", "stop"]


def test_a_provider_that_refuses_the_keys_or_is_away_is_a_stop_and_none_is_asked_about(settings: Settings) -> None:
    sale = Sale()
    settings.PAYMENT_PROVIDERS = []
    assert verdicts(process_looks.look_at_payments(sale)) == ["warning"]
    settings.PAYMENT_PROVIDERS = ["simulated"]
    assert verdicts(process_looks.look_at_payments(sale)) == ["good"]
    with stripe_server() as server:
        settings.PAYMENT_PROVIDERS, settings.STRIPE_API_BASE = ["stripe"], server.url
        settings.STRIPE_SECRET_KEY = "sk_test_x"
        provider_named.cache_clear()
        assert verdicts(process_looks.look_at_payments(sale)) == ["good"]
        server.faults.append((401, "invalid_request_error", "no_such_key"))
        ((verdict, text),) = words(process_looks.look_at_payments(sale))
        assert verdict == "stop"
        assert "refuses the shop's keys: " in text
    ((verdict, text),) = words(process_looks.look_at_payments(sale))
    assert verdict == "stop"
    assert "“stripe” does not answer: " in text
    provider_named.cache_clear()


def test_a_mail_server_that_is_away_is_a_stop(item: SaleItem, settings: Settings) -> None:
    assert verdicts(process_looks.look_at_mail(item.sale)) == ["good", "warning"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", listener.getsockname()[1]
    assert verdicts(process_looks.look_at_mail(item.sale)) == ["stop", "warning"]


def test_a_server_that_is_away_is_named() -> None:
    for error, server in (
        (OperationalError("gone"), "PostgreSQL does not answer: gone"),
        (BrokerAway("gone"), "The cache or the broker does not answer: gone"),
    ):
        look = preflight.Look("", mock.Mock(side_effect=error))
        assert words(preflight.findings_of(look, Sale())) == [("stop", server)]


def test_an_unknown_sale_is_named() -> None:
    with pytest.raises(CommandError, match=r"No such sale: 123456789\.") as refused:
        run_command("sale_preflight", "123456789")
    assert refused.value.returncode == 2


@pytest.mark.slow
def test_a_store_that_is_away_is_a_stop_and_the_rest_is_still_looked_at(
    small_store: OwnStore, product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_looks, "silent_queues", lambda: [])
    item = make_item(product)
    small_store.process.kill()
    found = words(preflight.preflight(item.sale))
    assert any("The reservation store does not answer" in text for verdict, text in found if verdict == "stop")
    assert ("good", "The mail server answers.") in found
