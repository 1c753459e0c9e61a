"""Which ways of sending are offered, and for what price."""

import pytest
from rest_framework.test import APIClient

from orders.models import ShippingMethod, ShippingPrice
from orders.shipping.shipping_prices import FREE, offers_for
from shop.models import Variant
from tests.steps.buying import put
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db

Basis = ShippingMethod.Basis


def method(code: str, *bands: tuple[int | None, int], **fields: object) -> ShippingMethod:
    made = ShippingMethod.objects.create(code=code, name=code.title(), **fields)
    for up_to, price_minor in bands:
        ShippingPrice.objects.create(method=made, up_to=up_to, price_minor=price_minor)
    return made


def prices(*, country: str = "CN", weight_grams: int = 500, total_minor: int = 5000) -> dict[str, int]:
    offers = offers_for(country=country, weight_grams=weight_grams, total_minor=total_minor)
    return {offer.code: offer.price_minor for offer in offers}


def test_a_shop_without_any_method_sends_free_of_charge() -> None:
    assert prices() == {FREE: 0}
    method("post", (None, 800), is_active=False)
    assert prices() == {FREE: 0}


def test_the_narrowest_band_of_the_weight_counts() -> None:
    method("post", (5000, 900), (1000, 500))
    assert [prices(weight_grams=grams).get("post") for grams in (0, 1000, 1001, 5000, 5001)] == [
        500,
        500,
        900,
        900,
        None,
    ]


def test_the_price_may_go_by_the_total_and_end_in_a_band_without_bound() -> None:
    method("post", (10_000, 800), (None, 300), basis=Basis.TOTAL)
    assert prices(total_minor=10_000) == {"post": 800}
    assert prices(total_minor=10_001) == {"post": 300}


def test_from_a_total_on_it_is_free() -> None:
    method("post", (None, 800), free_from_minor=9900)
    assert prices(total_minor=9899) == {"post": 800}
    assert prices(total_minor=9900) == {"post": 0}


def test_a_method_by_total_is_free_above_its_last_band_and_one_by_weight_keeps_its_limit() -> None:
    method("by-total", (5_000, 1000), (15_000, 500), basis=Basis.TOTAL, free_from_minor=20_000)
    method("by-weight", (1000, 500), free_from_minor=20_000)
    assert prices(weight_grams=1001, total_minor=15_001) == {}
    assert prices(weight_grams=1001, total_minor=20_000) == {"by-total": 0}


def test_a_method_goes_to_its_countries_and_they_come_in_the_order_of_the_admin() -> None:
    method("far", (None, 2000), position=2)
    method("near", (None, 500), countries=["CN", "HK"], position=1)
    method("unpriced", position=0)
    assert list(prices(country="CN")) == ["near", "far"]
    assert list(prices(country="DE")) == ["far"]


def test_the_api_offers_them_for_what_is_in_the_cart(api: APIClient) -> None:
    goods("tea", price_minor=5000)
    Variant.objects.update(weight_grams=600)
    method("post", (1000, 500), (2000, 900), free_from_minor=15_000)
    token = put(api, tea=2)["Cart-Token"]
    path, headers = "/api/v1/shipping-methods/", {"Cart-Token": token}
    answer = api.get(path, {"country": "cn"}, headers=headers)
    assert answer.json() == [{"code": "post", "name": "Post", "price": "9.00", "currency": "CNY"}]
    put(api, token, tea=3)
    assert api.get(path, {"country": "CN"}, headers=headers).json()[0]["price"] == "0.00"


def test_a_country_that_there_is_not_is_refused(api: APIClient) -> None:
    for country in ("", "XX", "ZZ", "China", "C\0", "💥"):
        answer = api.get("/api/v1/shipping-methods/", {"country": country})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "country"), country
