"""One client network may search so often; others, and lists without a query, are not concerned."""

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from shop.models import Product

pytestmark = pytest.mark.django_db

SEARCHES = ["/search/?q=longjing", "/products/?available=on", "/zh-hans/search/?q=tea"]
ADDRESS = "203.0.113.7"


def test_a_network_that_searches_too_often_is_told_to_wait(product: Product, settings: Settings) -> None:
    settings.SEARCH_LIMIT = "3/minute"
    client = Client(REMOTE_ADDR=ADDRESS)
    assert [client.get(path).status_code for path in SEARCHES] == [200] * 3
    refused = client.get(SEARCHES[0])
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 60
    assert "Please wait" in refused.content.decode()
    answer = APIClient(REMOTE_ADDR=ADDRESS).get("/api/v1/products/?search=longjing")
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_attempts")
    assert client.get("/products/").status_code == client.get("/search/").status_code == 200
    assert Client(REMOTE_ADDR="203.0.113.8").get(SEARCHES[0]).status_code == 200
