"""The pre-flight as a page of the sale: a line for each look, filled in one by one, with or without JavaScript."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from orders.preflight import canaries, page, process_looks
from orders.preflight.canaries import answer_canary
from orders.preflight.finding import good
from orders.preflight.kept import last_result
from orders.preflight.preflight import LOOKS
from orders.repair.audit import remember_result
from seckill.models import SaleItem
from tests.steps.shop import text_of
from tests.steps.staff import admin_page, employee
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db

LINE = re.compile(r'hx-get="([^"]+/preflight/[^"]+)"')
NEXT = re.compile(r'<meta http-equiv="refresh" content="\d;url=([^"]+)">')


def page_of(item: SaleItem) -> str:
    return reverse("admin:seckill_sale_check_before_opening", args=[item.sale_id])


@pytest.fixture
def workers_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a worker took each message at once, and beat asked for an audit."""
    monkeypatch.setattr(answer_canary, "apply_async", lambda args, **_more: answer_canary(*args))
    remember_result(problems_of_item={})


@pytest.mark.slow
@pytest.mark.usefixtures("workers_answer")
def test_each_line_asks_for_itself_and_the_last_one_is_the_result(as_manager: Client, item: SaleItem) -> None:
    paths = LINE.findall(text_of(as_manager, page_of(item)))
    assert len(paths) == len(LOOKS) + 1
    parts = [text_of(as_manager, path, HX_Request="true") for path in paths]
    assert all("<html" not in part and "hx-get" not in part for part in parts)
    assert "Published, and the reservation store has all its items." in parts[1]
    assert "A message went through each queue: workers take them." in "".join(parts)
    result = last_result(item.sale_id)
    assert result is not None
    # What this machine's settings are is no matter of the page.
    stops = len(result.stops)
    assert (f"Not ready: {stops} stop" if stops else "Ready.") in parts[-1]
    # And a reader of the other language sees the same run.
    chinese = text_of(as_manager, paths[-1], **{"Accept-Language": "zh-hans"})
    assert "已发布，库存系统中已有其全部商品。" in chinese
    assert "Published, and" not in chinese


@pytest.mark.usefixtures("workers_answer")
def test_without_javascript_the_page_leads_on_to_itself_and_shows_what_it_knows(
    as_manager: Client, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "findings_of", lambda look, *_args, **_more: [good(f"Looked at {look.title}.")])
    text, steps = text_of(as_manager, page_of(item)), 0
    while found := NEXT.search(text):
        text, steps = text_of(as_manager, found[1]), steps + 1
    assert steps == len(LOOKS) + 1
    assert text.count("Looked at") == len(LOOKS)
    assert "data-ready=" in text


def test_the_line_of_the_workers_asks_again_until_they_had_time(
    as_manager: Client, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_canary, "apply_async", lambda args, **_more: None)
    number = next(n for n, look in enumerate(LOOKS) if look.find is process_looks.look_at_workers)
    path = LINE.findall(text_of(as_manager, page_of(item)))[number]
    assert f'hx-get="{path}" hx-trigger="load delay:1s"' in text_of(as_manager, path, HX_Request="true")
    monkeypatch.setattr(canaries, "SECONDS_MAX", 0.0)
    assert "No worker takes messages of these queues: " in text_of(as_manager, path, HX_Request="true")


def test_a_run_that_lacks_a_look_is_no_result_and_a_store_that_is_away_a_stop(
    as_manager: Client, item: SaleItem, settings: Settings
) -> None:
    paths = LINE.findall(text_of(as_manager, page_of(item)))
    assert "This page was open too long" in text_of(as_manager, paths[-1], HX_Request="true")
    assert last_result(item.sale_id) is None
    store_away(settings)
    assert "The reservation store does not answer" in text_of(as_manager, paths[4], HX_Request="true")


def test_the_page_of_the_sale_leads_there_but_not_those_who_only_see_sales(
    client: Client, as_manager: Client, item: SaleItem
) -> None:
    assert f'href="{page_of(item)}"' in text_of(as_manager, admin_page(item.sale))
    client.force_login(employee("view_sale"))
    assert client.get(page_of(item)).status_code == 403
    assert "preflight" not in text_of(client, admin_page(item.sale))
