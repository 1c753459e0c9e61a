"""`POST …/passes/`: who gets a pass, and when."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from seckill.models import Sale, SaleItem
from seckill.passes import passes
from shop.models import ApiToken, Product
from tests.steps.shop import make_item, make_product
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db


def ask(item_id: int, user: User | None) -> Any:
    client = APIClient()
    client.force_authenticate(user)
    return client.post(f"/api/v1/sale-items/{item_id}/passes/")


def test_a_pass_is_for_this_buyer_and_this_item(item: SaleItem, buyer: User) -> None:
    answer = ask(item.pk, buyer)
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    pass_ = passes.read(answer.json()["pass"])
    assert (pass_.item_id, pass_.buyer_id) == (item.pk, buyer.pk)
    assert passes.item_id_of(pass_.reservation_id) == item.pk


def test_a_pass_takes_a_query_for_its_buyer_and_one_for_its_sale(
    item: SaleItem, buyer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Also with a token, for which the library would read all tokens of the buyer."""
    browser, api = Client(), APIClient()
    browser.force_login(buyer)
    _row, token = ApiToken.objects.create(buyer)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    for client in (browser, api):
        with django_assert_num_queries(2):
            answer = client.post(f"/api/v1/sale-items/{item.pk}/passes/", "{}", content_type="application/json")
            assert answer.status_code == 201


def test_a_call_without_a_session_or_its_csrf_token_or_with_a_body_gets_none(item: SaleItem, buyer: User) -> None:
    address, strict, api = f"/api/v1/sale-items/{item.pk}/passes/", Client(enforce_csrf_checks=True), APIClient()
    answer = api.post(address)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer")
    strict.force_login(buyer)
    refused = strict.post(address)
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
    assert refused["Content-Type"] == "application/problem+json"
    api.force_authenticate(buyer)
    answer = api.post(address, {"units": 3})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "units")


def test_passes_start_ten_minutes_before_the_opening_and_end_with_the_sale(
    product: Product, buyer: User, settings: LazySettings
) -> None:
    settings.PASS_LIMIT = "1/minute"
    early = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)
    for _call in range(2):
        answer = ask(early.pk, buyer)
        assert (answer.status_code, answer.json()["code"]) == (409, "too_early")
        assert 6500 < int(answer["Retry-After"]) <= 6600
    # Calls that get no pass are not counted.
    item = make_item(product, opens_in_seconds=590)
    assert ask(item.pk, buyer).status_code == 201
    opens_at = timezone.now() - timedelta(hours=1)
    Sale.objects.update(opens_at=opens_at, closes_at=opens_at + timedelta(minutes=1))
    answer = ask(item.pk, buyer)
    assert (answer.status_code, answer.json()["code"]) == (410, "closed")


def test_an_unpublished_or_unknown_item_is_404(product: Product, buyer: User) -> None:
    draft = make_item(product, published=False)
    assert ask(draft.pk, buyer).status_code == 404
    assert ask(999_999, buyer).status_code == 404
    assert ask(10**30, buyer).status_code == 404


def test_an_account_that_asks_too_often_has_to_wait_and_others_do_not(
    item: SaleItem, buyer: User, rival: User, settings: LazySettings
) -> None:
    settings.PASS_LIMIT = "3/minute"
    other = make_item(make_product(name="Teapot", slug="teapot", price_minor=9900))
    assert [ask(pk, buyer).status_code for pk in (item.pk, other.pk, item.pk)] == [201] * 3
    answer = ask(item.pk, buyer)
    assert (answer.status_code, answer["Content-Type"]) == (429, "application/problem+json")
    assert answer.json()["code"] == "too_many_attempts"
    assert answer.json()["retry_after"] == int(answer["Retry-After"])
    assert 50 < int(answer["Retry-After"]) <= 60
    assert ask(item.pk, rival).status_code == 201


def test_the_page_with_a_pass_counts_as_well(
    as_buyer: Client, item: SaleItem, buyer: User, settings: LazySettings
) -> None:
    settings.PASS_LIMIT = "2/minute"
    assert as_buyer.get(f"/sale-items/{item.pk}/reserve/").status_code == 200
    assert ask(item.pk, buyer).status_code == 201
    page = as_buyer.get(f"/sale-items/{item.pk}/reserve/")
    assert (page.status_code, page["Content-Type"]) == (429, "text/html; charset=utf-8")
    assert 50 < int(page["Retry-After"]) <= 60


def test_a_try_that_the_limit_of_the_account_or_of_its_network_refuses_takes_nothing_from_the_other(
    item: SaleItem, buyer: User, rival: User, stranger: User, settings: LazySettings
) -> None:
    # All accounts of one network have a limit for each item.
    settings.PASS_LIMIT, settings.PASS_LIMIT_BY_NETWORK = "2/minute", "1/minute"
    assert [ask(item.pk, who).status_code for who in (rival, buyer, buyer, buyer)] == [201, 429, 429, 429]
    others = [make_item(make_product(name=name, slug=name, price_minor=9900)) for name in ("teapot", "cup")]
    assert [ask(other.pk, buyer).status_code for other in others] == [201, 201]
    settings.PASS_LIMIT, settings.PASS_LIMIT_BY_NETWORK = "2/minute", "4/minute"
    tries = [buyer, buyer, rival, rival, stranger]
    assert [ask(others[0].pk, who).status_code for who in tries] == [429, 429, 201, 429, 201]


def test_while_the_cache_is_away_each_process_counts_and_it_is_logged_once(
    item: SaleItem, buyer: User, rival: User, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PASS_LIMIT = "1/minute"
    assert [ask(item.pk, buyer).status_code for _ in range(2)] == [201, 429]
    store_away(settings, "default")
    assert [ask(item.pk, who).status_code for who in (buyer, buyer, rival, buyer)] == [201, 429, 201, 429]
    assert caplog.text.count("limits_not_counted") == 1
