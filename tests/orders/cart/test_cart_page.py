"""The cart as a page, without JavaScript: from the form of a public page to steppers, and the cookies it leaves."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from orders.cart.cart_lines import LINES_MAX, UNITS_MAX
from orders.models import Cart, CartLine
from shop.accounts.sign_in_hint import hint_of
from shop.models import Product, TaxRate, Variant
from tests.steps.buying import add_to_cart
from tests.steps.shop import goods

pytestmark = pytest.mark.django_db


@pytest.fixture
def shopper() -> Client:
    """As a real one: forms without a token are refused."""
    return Client(enforce_csrf_checks=True)


def text_of(client: Client, path: str = "/cart/") -> str:
    return client.get(path).content.decode()


def change(client: Client, **form: object) -> Any:
    client.get("/cart/")
    return client.post("/cart/change/", {"csrfmiddlewaretoken": client.cookies["csrftoken"].value, **form})


def test_a_form_of_a_public_page_needs_no_token_and_sets_the_cookies(shopper: Client) -> None:
    # Looking leaves no cart and no cookie of one.
    assert "Your cart is empty." in text_of(shopper)
    assert not {"cart", "cart_units"} & set(shopper.cookies)
    assert not Cart.objects.exists()
    goods("tea")
    answer = add_to_cart(shopper, "tea", 2)
    assert (answer.status_code, answer["Location"]) == (302, "/cart/")
    cookie = shopper.cookies["cart"]
    assert (cookie["httponly"], cookie["samesite"], cookie.value) == (True, "Lax", str(Cart.objects.get().token))
    assert shopper.cookies["cart_units"].value == ".2"
    assert "In your cart: Tea" in text_of(shopper)
    # The same again adds to the line.
    add_to_cart(shopper, "tea", 3)
    assert CartLine.objects.get().units == 5


def test_the_cart_says_what_the_page_of_the_product_says_of_the_stock_and_of_taxes(shopper: Client) -> None:
    tea = goods("tea", units=3)
    goods("cup", units=40)
    add_to_cart(shopper, "tea", 2)
    assert "Only 3 left" in text_of(shopper)
    add_to_cart(shopper, "cup", 1)
    page = text_of(shopper)
    assert "In stock" in page
    assert "Taxes are included." not in page
    Product.objects.filter(pk=tea.product_id).update(tax_rate=TaxRate.objects.create(name="VAT", percent=13))
    assert "Taxes are included." in text_of(shopper)


def test_a_form_that_is_not_known_to_be_the_shops_is_asked_about(shopper: Client) -> None:
    goods("tea")
    foreign: list[dict[str, str]] = [
        *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "none")),
        *({"Origin": origin} for origin in ("https://evil.example", "null")),
        {},
    ]
    for headers in foreign:
        answer = shopper.post("/cart/add/", {"sku": "SKU-tea", "units": "2"}, headers=headers)
        assert answer["Location"] == "/cart/add/confirm/?sku=SKU-tea&units=2", headers
        assert not Cart.objects.exists()
    page = shopper.get(answer["Location"])
    assert "Add to the cart?" in page.content.decode()
    # Without the page's token nothing is added, and with it all is as asked.
    assert shopper.post("/cart/add/confirm/", {"sku": "SKU-tea", "units": "2"}).status_code == 403
    token = shopper.cookies["csrftoken"].value
    shopper.post("/cart/add/confirm/", {"sku": "SKU-tea", "units": "2", "csrfmiddlewaretoken": token})
    assert CartLine.objects.get().units == 2
    # An old browser that sends its origin is believed.
    shopper.post("/cart/add/", {"sku": "SKU-tea"}, headers={"Origin": "http://testserver"})
    assert CartLine.objects.get().units == 3


def test_a_hostile_form_adds_nothing(shopper: Client) -> None:
    goods("tea")
    unknown = [(sku, "1") for sku in ("SKU-none", "SKU-t\0a", "x" * 5000)]
    for sku, units in (*unknown, ("SKU-tea", "0"), ("SKU-tea", "-1"), ("SKU-tea", "two")):
        form = {"sku": sku, "units": units}
        answer = shopper.post("/cart/add/", form, headers={"Sec-Fetch-Site": "same-origin"}, follow=True)
        assert answer.status_code == 200, form
    assert not CartLine.objects.exists()


def test_units_are_stepped_typed_and_removed(shopper: Client) -> None:
    tea, cup = goods("tea"), goods("cup")
    add_to_cart(shopper, "tea", 2)
    add_to_cart(shopper, "cup", 1)
    shown = {f"units-{tea.pk}": "2", f"units-{cup.pk}": "1"}

    def units() -> dict[str, int]:
        return {line.variant.sku: line.units for line in CartLine.objects.all()}

    change(shopper, **shown, more=str(tea.pk))
    assert units() == {"SKU-tea": 3, "SKU-cup": 1}
    change(shopper, **shown, fewer=str(cup.pk))
    assert units() == {"SKU-tea": 2, "SKU-cup": 1}
    change(shopper, **{**shown, f"units-{tea.pk}": "1000"})
    assert units() == {"SKU-tea": UNITS_MAX, "SKU-cup": 1}
    change(shopper, **{**shown, f"units-{tea.pk}": "9" * 400, f"units-{10**30}": "1", "units-x": "1"})
    assert units() == {"SKU-tea": UNITS_MAX, "SKU-cup": 1}
    change(shopper, **shown, remove=str(tea.pk))
    assert units() == {"SKU-cup": 1}
    assert shopper.cookies["cart_units"].value == ".1"
    change(shopper, **{f"units-{cup.pk}": "0"})
    assert units() == {}
    assert shopper.cookies["cart_units"].value == ""


def test_a_number_that_was_typed_comes_along_to_the_checkout(shopper: Client) -> None:
    tea = goods("tea", units=3)
    add_to_cart(shopper, "tea", 1)
    onward = change(shopper, **{f"units-{tea.pk}": "3", "checkout": "1"})
    assert (onward["Location"], CartLine.objects.get().units) == ("/checkout/", 3)
    assert shopper.cookies["cart_units"].value == ".3"
    # A number that cannot be ordered is shown first.
    for typed in ("4", "", "1000"):
        assert change(shopper, **{f"units-{tea.pk}": typed, "checkout": "1"})["Location"] == "/cart/", typed


def test_the_page_says_what_changed_and_leads_on_only_when_all_can_be_bought(shopper: Client) -> None:
    tea = goods("tea", units=3)
    add_to_cart(shopper, "tea", 5)
    Variant.objects.filter(pk=tea.pk).update(price_minor=900)
    page = text_of(shopper)
    assert "Only 3 left" in page
    assert "Price changed from CN¥10.00 to CN¥9.00" in page
    assert 'name="checkout"' not in page
    Variant.objects.filter(pk=tea.pk).update(is_active=False)
    assert "No longer sold" in text_of(shopper)
    Variant.objects.filter(pk=tea.pk).update(is_active=True)
    change(shopper, **{f"units-{tea.pk}": "3"})
    page = text_of(shopper, "/zh-hans/cart/")
    assert "去结算" in page
    assert "¥27.00" in page


def test_signing_in_keeps_the_cart_and_drops_the_cookie(client: Client, buyer: User) -> None:
    goods("tea")
    add_to_cart(client, "tea", 2)
    client.force_login(buyer)
    assert "Tea" in text_of(client)
    assert client.cookies["cart"].value == ""
    assert client.cookies["cart_units"].value == f"{hint_of(str(buyer.pk))}.2"
    assert CartLine.objects.get().cart.buyer == buyer


def test_a_forged_cookie_opens_nothing(client: Client, buyer: User) -> None:
    goods("tea")
    mine = Cart.objects.create(buyer=buyer)
    for forged in (str(mine.token), str(uuid4()), "nonsense", "\x01"):
        client.cookies["cart"] = forged
        assert "Your cart is empty." in text_of(client)


def test_a_full_cart_takes_no_other_product(shopper: Client) -> None:
    tea = goods("tea")
    add_to_cart(shopper, "tea")
    others = Variant.objects.bulk_create(
        Variant(product=tea.product, sku=f"SKU-tea-{number}", price_minor=1000, available=1)
        for number in range(1, LINES_MAX)
    )
    cart = Cart.objects.get()
    CartLine.objects.bulk_create(
        CartLine(cart=cart, variant=other, units=1, seen_price_minor=other.price_minor) for other in others
    )
    answer = add_to_cart(shopper, goods("one-more").product.slug)
    assert answer.status_code == 302
    assert "Your cart is full" in text_of(shopper)
    assert CartLine.objects.count() == LINES_MAX


def test_too_many_changes_from_one_address_have_to_wait(shopper: Client, settings: LazySettings) -> None:
    settings.CART_LIMIT = "2/minute"
    tea = goods("tea")
    assert [add_to_cart(shopper, "tea").status_code for _ in range(3)] == [302, 302, 429]
    assert change(shopper, **{f"units-{tea.pk}": "3"}).status_code == 429
    assert CartLine.objects.get().units == 2
