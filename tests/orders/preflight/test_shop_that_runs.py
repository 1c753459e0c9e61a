"""The pre-flight against a shop that runs: its pages, its workers, its limits, and a mail that it really sends."""

import os
import subprocess
import sys

import pytest
from django.utils import translation
from pytest_django import Settings

from orders.preflight.finding import Verdict
from orders.preflight.limit_look import client_chooses_address, look_at_limits
from orders.preflight.page_look import look_at_pages, paths_of
from seckill.models import SaleItem
from shop.models import Product
from tests.live_shop import environment, live_processes, live_web
from tests.own_store import free_port, silent_server
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_sees_workers_and_pages_and_has_a_mail_sent(item: SaleItem) -> None:
    with live_processes(names=("web", "worker", "errands")) as (url, _processes):
        done = subprocess.run(
            [sys.executable, "manage.py", "sale_preflight", str(item.sale_id), "--mail-to", "staff@shop.example"],
            env={**os.environ, **environment(), "SHOP_URL": url},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert "2 worker processes write them" in done.stdout, done.stderr
    assert f"✓ {len(paths_of(item.sale))} public pages and live figures answer at {url}" in done.stdout
    assert "✓ The mail server took the test mail of 0\xa0minutes ago." in done.stdout
    assert "✓ The limits have room:" in done.stdout


def test_a_page_that_is_missing_or_broken_is_a_stop(item: SaleItem, settings: Settings) -> None:
    with live_web() as settings.SHOP_URL:
        assert [finding.verdict for finding in look_at_pages(item.sale)] == [Verdict.GOOD]
        Product.objects.filter(pk=item.variant.product_id).update(is_active=False)
        item.sale.pk = 987_654_321
        missing = [str(finding.text) for finding in look_at_pages(item.sale) if finding.verdict is Verdict.STOP]
    assert any("/sales/987654321/ is answered with 404" in text for text in missing)
    assert any("/zh-hans/sales/987654321/" in text for text in missing)


def test_a_draft_has_no_page_yet(product: Product, settings: Settings) -> None:
    item = make_item(product, published=False)
    with live_web() as settings.SHOP_URL:
        (found,) = look_at_pages(item.sale)
    assert found.verdict is Verdict.WARNING
    assert "comes with its publishing" in str(found.text)


def test_a_shop_that_is_not_reached_or_silent_ends_the_look(item: SaleItem, settings: Settings) -> None:
    settings.SHOP_URL = f"http://127.0.0.1:{free_port()}"
    (found,) = look_at_pages(item.sale)
    assert (found.verdict, "Connection refused" in str(found.text)) == (Verdict.WARNING, True)
    with silent_server() as port:
        settings.SHOP_URL = f"http://127.0.0.1:{port}"
        (found,) = look_at_pages(item.sale)
    assert "timed out" in str(found.text)
    with translation.override("zh-hans"):
        assert "本机无法" in str(found.text)


def test_a_client_that_writes_its_own_address_is_found_out(item: SaleItem, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 1
    # The web server trusts a proxy, and there is none.
    with live_web(TRUSTED_PROXIES="1") as settings.SHOP_URL:
        assert client_chooses_address()
        assert next(look_at_limits(item.sale)).verdict is Verdict.STOP
    with live_web(TRUSTED_PROXIES="0") as settings.SHOP_URL:
        assert not client_chooses_address()
    assert not client_chooses_address(), "nobody answers"


def test_limits_are_compared_with_the_buyers_that_are_expected(product: Product, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 0
    settings.SIGN_IN_LIMIT_BY_ADDRESS, settings.PASS_LIMIT_BY_NETWORK = "30/minute", "600/minute"
    few, many, crowd = (make_item(product, quantity=units, published=False) for units in (50, 100, 10_000))
    assert [finding.verdict for finding in look_at_limits(few.sale)] == [Verdict.GOOD]
    (found,) = look_at_limits(many.sale)
    assert found.verdict is Verdict.WARNING
    assert "of which 300 can sign in and 6,000 get a pass" in str(found.text)
    settings.TRUSTED_PROXIES, settings.SHOP_URL = 1, f"http://127.0.0.1:{free_port()}"
    assert [finding.verdict for finding in look_at_limits(many.sale)] == [Verdict.GOOD]
    (found,) = look_at_limits(crowd.sale)
    assert (found.verdict, "A hundredth of them, 400," in str(found.text)) == (Verdict.WARNING, True)
    settings.PASS_LIMIT = "0/minute"
    assert "Raise PASS_LIMIT, so that" in str(next(look_at_limits(few.sale)).todo)
