"""The pre-flight against a shop that runs: its pages, its workers, its limits, and a mail that it really sends."""

import os
import subprocess
import sys

import pytest
from django.utils import translation
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from orders.preflight import page_look
from orders.preflight.admission_look import place_finding
from orders.preflight.finding import Verdict
from orders.preflight.limit_look import client_chooses_address, look_at_limits
from orders.preflight.page_look import look_at_pages, paths_of
from seckill.models import SaleItem
from shop.local.ports import free_port
from shop.models import Product
from tests.live_shop import environment
from tests.own_store import silent_server
from tests.steps.drawing import make_draw
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600


def test_the_command_sees_workers_and_pages_has_a_mail_sent_and_names_the_queue_without_a_worker(
    live_shop: str, item: SaleItem, settings: Settings
) -> None:
    # The shop has a worker for all queues but one, and trusts no proxy.
    settings.TRUSTED_PROXIES, settings.SHOP_URL = 1, live_shop
    assert not client_chooses_address()
    found = subprocess.run(
        [sys.executable, "manage.py", "sale_preflight", str(item.sale_id), "--mail-to", "staff@shop.example"],
        env={**os.environ, **environment(), "SHOP_URL": live_shop},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "3 worker processes write them" in found.stdout, found.stderr
    assert f"✓ {len(paths_of(item.sale))} public pages and live figures answer at {live_shop}" in found.stdout
    assert "✓ The mail server took the test mail of 0\xa0minutes ago." in found.stdout
    assert "✓ The limits have room:" in found.stdout
    assert "✗ No worker takes messages of these queues: repair." in found.stdout
    assert "  → Start a worker for each" in found.stdout
    assert "✓ Published, and the reservation store has all its items." in found.stdout
    assert found.stdout.splitlines()[-1].startswith("NOT ready: ")
    assert found.returncode == 1


def test_the_page_of_a_draw_and_questions_for_a_place_reach_the_shop(
    live_shop: str, product: Product, settings: Settings
) -> None:
    draw = make_draw(product, quantity=3, opens_in_seconds=24 * HOUR, closes_in_seconds=72 * HOUR).sale
    room = make_item(product, opens_in_seconds=99 * HOUR, closes_in_seconds=100 * HOUR, has_room=True).sale
    assert {f"{prefix}/sales/{draw.pk}/draw/" for prefix in ("", "/zh-hans")} <= set(paths_of(draw))
    settings.SHOP_URL = live_shop
    assert [finding.verdict for finding in look_at_pages(draw)] == [Verdict.GOOD]
    found = place_finding(room)
    assert (found.verdict, str(found.text)) == (Verdict.GOOD, "The shop answers those who ask for their place.")
    settings.SHOP_URL = f"http://127.0.0.1:{free_port()}"
    found = place_finding(room)
    assert (found.verdict, "does not answer this machine" in str(found.text)) == (Verdict.WARNING, True)


def test_a_missing_page_is_a_stop_and_so_is_a_client_that_writes_its_own_address(
    item: SaleItem, product: Product, settings: Settings, live_server: LiveServer
) -> None:
    draft = make_item(product, published=False)
    # The web server trusts a proxy, and there is none.
    settings.TRUSTED_PROXIES, settings.SHOP_URL = 1, live_server.url
    assert client_chooses_address()
    assert next(look_at_limits(item.sale)).verdict is Verdict.STOP
    (found,) = look_at_pages(draft.sale)
    assert (found.verdict, "comes with its publishing" in str(found.text)) == (Verdict.WARNING, True)
    assert [finding.verdict for finding in look_at_pages(item.sale)] == [Verdict.GOOD]
    Product.objects.filter(pk=item.variant.product_id).update(is_active=False)
    item.sale.pk = 987_654_321
    missing = [str(finding.text) for finding in look_at_pages(item.sale) if finding.verdict is Verdict.STOP]
    assert any("/sales/987654321/ is answered with 404" in text for text in missing)
    assert any("/zh-hans/sales/987654321/" in text for text in missing)


@pytest.mark.slow
def test_a_shop_that_is_not_reached_or_silent_ends_the_look(
    item: SaleItem, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_look, "PAGE_SECONDS", 0.5)
    settings.SHOP_URL = f"http://127.0.0.1:{free_port()}"
    assert not client_chooses_address()
    (found,) = look_at_pages(item.sale)
    assert (found.verdict, "Connection refused" in str(found.text)) == (Verdict.WARNING, True)
    with silent_server() as port:
        settings.SHOP_URL = f"http://127.0.0.1:{port}"
        (found,) = look_at_pages(item.sale)
    assert "timed out" in str(found.text)
    with translation.override("zh-hans"):
        assert "本机无法" in str(found.text)


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
