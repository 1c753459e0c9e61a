"""A sale with proof of work in a real browser: solved while the buyer waits, under the shop's content policy."""

import re

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from shop.models import Product
from tests.browser.conftest import sign_in
from tests.steps.guarding import guarded_by
from tests.steps.shop import make_item


def test_it_is_solved_before_the_opening(live_shop: str, page: Page, buyer: User, product: Product) -> None:
    item = guarded_by(make_item(product, opens_in_seconds=120), proof_of_work=True)
    sign_in(page.context, buyer)
    with page.expect_response(lambda answer: "/passes/" in answer.url and answer.status == 201, timeout=90_000):
        page.goto(f"{live_shop}/sales/{item.sale_id}/")
    assert item.sale.opens_at > timezone.now()


def test_a_proof_whose_call_failed_is_sent_again_and_not_computed_anew(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = guarded_by(make_item(product), proof_of_work=True)
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
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(page.locator(".rules")).to_contain_text("Your browser computes for some seconds")
    page.click("[data-buy]")
    page.wait_for_url(re.compile("/orders/.+/"), timeout=90_000)
    assert len(challenges) == 1
    assert (len(sent), len(set(sent))) == (2, 1)
