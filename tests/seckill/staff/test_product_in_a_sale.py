"""What staff may still do to a product that is in a sale."""

import pytest
from django.test import Client
from django.urls import reverse

from seckill.models import Sale, SaleItem
from shop.models import Product, Variant
from tests.steps.product_page import saved_page
from tests.steps.shop import make_item, variant_of
from tests.steps.staff import admin_page, errors_of_rows, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


def test_its_price_cannot_go_below_that_of_a_published_sale_until_that_is_over(
    client: Client, item: SaleItem, product: Product
) -> None:
    response = client.post(admin_page(product), saved_page(product, price_minor="18.99"))
    sentence = (
        "The published sale “Spring sale” sells this product for 19.00 CNY. The ordinary price must not be lower."
    )
    assert errors_of_rows(response) == [{"price_minor": [sentence]}]
    assert variant_of(product).price_minor == 9900
    assert client.post(admin_page(product), saved_page(product, price_minor="19.00")).status_code == 302
    Sale.objects.update(closes_at=item.sale.opens_at.replace(microsecond=999_999))
    assert client.post(admin_page(product), saved_page(product, price_minor="5")).status_code == 302


def test_a_draft_does_not_bind_its_price_but_staff_are_told(client: Client, product: Product) -> None:
    make_item(product, published=False)
    response = client.post(admin_page(product), saved_page(product, price_minor="18.99"))
    warning = (
        "The sale “Spring sale” has a higher price for this product: 19.00 CNY. Lower it before you publish the sale."
    )
    assert warning in messages_on(response)
    assert variant_of(product).price_minor == 1899


def test_neither_it_nor_its_variant_can_be_deleted(client: Client, item: SaleItem, product: Product) -> None:
    url = reverse("admin:shop_product_delete", args=[product.pk])
    for call in (client.get, client.post):
        assert messages_on(call(url, {"post": "yes"})) == [
            "“Longjing tea” is in a sale, so it cannot be deleted. Hide it from the shop instead."
        ]
    response = client.post(admin_page(product), saved_page(product, DELETE="on"))
    sentence = "SKU-longjing, “Longjing tea”, is in a sale, so it cannot be deleted."
    assert sentence in response.content.decode()
    assert Variant.objects.exists()


def test_its_category_cannot_be_deleted(client: Client, product: Product) -> None:
    url = reverse("admin:shop_category_delete", args=[product.category_id])
    response = client.post(url, {"post": "yes"})
    assert messages_on(response) == ["“Tea” has products, so it cannot be deleted."]
    assert Product.objects.exists()


def test_the_list_finds_it_by_its_sale(client: Client, item: SaleItem, product: Product) -> None:
    def listed(sale: str) -> int:
        count: int = client.get("/admin/shop/product/", {"sale": sale}).context["cl"].result_count
        return count

    assert (listed("published"), listed("draft"), listed("no")) == (1, 0, 0)
