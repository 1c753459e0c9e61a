"""A sale with proof of work in a real browser: solved while the buyer waits, under the shop's content policy."""

import re

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from seckill.models import SaleItem
from shop.models import Product
from tests.browser.conftest import NewPage, sign_in, width_of
from tests.steps.guarding import guarded_by
from tests.steps.shop import make_item


@pytest.fixture
def proven(product: Product) -> SaleItem:
    return guarded_by(make_item(product), proof_of_work=True)


def test_a_buyer_of_an_open_sale_has_a_proof_computed_and_has_reserved(
    live_shop: str, page: Page, buyer: User, proven: SaleItem
) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{proven.sale_id}/")
    expect(page.locator(".rules")).to_contain_text("Your browser computes for some seconds")
    page.click("[data-buy]")
    page.wait_for_url(re.compile("/orders/.+/"), timeout=90_000)
    assert not complaints


def test_it_is_solved_before_the_opening(live_shop: str, page: Page, buyer: User, product: Product) -> None:
    item = guarded_by(make_item(product, opens_in_seconds=120), proof_of_work=True)
    sign_in(page.context, buyer)
    with page.expect_response(lambda answer: "/passes/" in answer.url and answer.status == 201, timeout=90_000):
        page.goto(f"{live_shop}/sales/{item.sale_id}/")
    assert item.sale.opens_at > timezone.now()


def test_a_proof_whose_call_failed_is_sent_again_and_not_computed_anew(
    live_shop: str, page: Page, buyer: User, proven: SaleItem
) -> None:
    challenges: list[str] = []
    page.on("request", lambda request: challenges.append(request.url) if "/challenges/" in request.url else None)
    sent: list[str] = []

    def fail_once(route: Route) -> None:
        proof = (route.request.post_data_json or {}).get("proof")
        sent.extend([proof] if proof else [])
        if proof and len(sent) == 1:
            route.fulfill(status=503, json={"code": "unavailable", "title": "", "detail": "", "retry_after": 0})
        else:
            route.continue_()

    page.route("**/passes/", fail_once)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{proven.sale_id}/")
    page.click("[data-buy]")
    page.wait_for_url(re.compile("/orders/.+/"), timeout=90_000)
    assert len(challenges) == 1
    assert (len(sent), len(set(sent))) == (2, 1)


def test_a_rule_that_the_account_does_not_meet_is_said_in_words_while_there_is_time_to_meet_it(
    live_shop: str, new_page: NewPage, buyer: User, product: Product
) -> None:
    item = guarded_by(make_item(product, opens_in_seconds=300), needs_confirmed_mail=True)
    page = new_page(buyer, locale="zh-CN", viewport={"width": 390, "height": 800})
    page.goto(f"{live_shop}/zh-hans/sales/{item.sale_id}/")
    page.click("[data-buy]")
    expect(page.locator("[data-outcome]")).to_contain_text("请先验证您的邮箱")
    expect(page.locator("[data-buy]")).to_have_text("自动抢购")
    assert width_of(page) == 390
