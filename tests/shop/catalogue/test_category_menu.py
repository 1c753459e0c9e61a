"""The categories in the header of every page: of public ones, of the buyer's own, and of those about a failure."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from shop.catalogue import category_tree
from shop.models import Category

pytestmark = pytest.mark.django_db


LINK, LINK_ZH = '<a href="/categories/tea/">Tea</a>', '<a href="/zh-hans/categories/tea/">茶</a>'
OPEN = (
    *("/", "/products/", "/search/", "/cart/", "/orders/find/", "/accounts/login/", "/accounts/signup/"),
    *("/accounts/password/reset/", "/accounts/inactive/"),
)
OWN = (
    *("/orders/", "/accounts/", "/accounts/addresses/", "/accounts/2fa/", "/accounts/password/change/"),
    *("/accounts/email/", "/accounts/logout/"),
)


@pytest.fixture(autouse=True)
def tea(db: None) -> Category:
    return Category.objects.create(name="Tea", name_zh_hans="茶", slug="tea")


def test_every_page_has_them_in_the_language_of_its_reader(client: Client, buyer: User) -> None:
    for address in OPEN:
        assert LINK in client.get(address).content.decode(), address
        assert LINK_ZH in client.get(f"/zh-hans{address}").content.decode(), address
    client.force_login(buyer)
    for address in OWN:
        assert LINK in client.get(address).content.decode(), address


def test_they_are_read_again_after_a_second(monkeypatch: pytest.MonkeyPatch, tea: Category) -> None:
    now_s = 1000.0
    monkeypatch.setattr("shop.catalogue.category_tree.time.monotonic", lambda: now_s)
    monkeypatch.setattr(category_tree, "FRESH_SECONDS", 1.0)
    menu = category_tree.CategoryMenu()
    assert menu.recent() == [tea]
    more = Category.objects.create(name="Tools", slug="tools", position=1)
    assert menu.recent() == [tea]
    now_s += 1.01
    assert menu.recent() == [tea, more]


@pytest.mark.urls("tests.shop.http.broken_page")
def test_a_page_about_a_failure_has_those_last_seen_and_asks_nothing(
    client: Client, django_assert_num_queries: object
) -> None:
    client.raise_request_exception = False
    for address, status in (("/nowhere/", 404), ("/broken/", 500)):
        category_tree.menu.forget()
        with django_assert_num_queries(0):  # type: ignore[operator]
            answer = client.get(address)
        assert (answer.status_code, LINK in answer.content.decode()) == (status, False)
        client.get("/products/")
        with django_assert_num_queries(0):  # type: ignore[operator]
            assert LINK in client.get(address).content.decode(), address
