"""Staff edit a sale; what breaks a rule is refused with an error at its field, and nothing is stored."""

from datetime import timedelta

import pytest
from django.test import Client

from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.steps.shop import make_item, make_product
from tests.steps.staff import (
    TOMORROW,
    admin_page,
    errors_of_rows,
    errors_of_sale,
    filled_form,
    form_of,
    row_of,
    row_of_saved,
)

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

ADD = "/admin/seckill/sale/add/"
OVERLAP = "This product is already in the sale “Spring sale” at that time."


@pytest.fixture
def other_product(product: Product) -> Product:
    return make_product(name="Oolong tea", slug="oolong", price_minor=5000)


def test_a_sale_and_its_items_are_stored_with_prices_in_minor_units(
    client: Client, product: Product, other_product: Product
) -> None:
    unlimited = row_of(other_product, price_minor="9.9", quantity="", unlimited="on", per_buyer_max=3)
    response = client.post(ADD, filled_form(row_of(product, price_minor="19.90"), unlimited))
    assert response.status_code == 302
    items = SaleItem.objects.order_by("pk").values_list("variant__product", "price_minor", "quantity", "per_buyer_max")
    assert list(items) == [(product.pk, 1990, 5, 1), (other_product.pk, 990, None, 3)]
    assert not Sale.objects.get().is_published


def test_a_window_that_goes_backwards_or_has_no_length_is_refused(client: Client, product: Product) -> None:
    for closes_at in (TOMORROW - timedelta(hours=1), TOMORROW):
        response = client.post(ADD, filled_form(row_of(product), closes_at=closes_at))
        assert errors_of_sale(response) == {"closes_at": ["The sale must close after it opens."]}
    assert not Sale.objects.exists()


REFUSED = [
    ({"price_minor": "99.01"}, "The sale price is higher than the product's ordinary price."),
    ({"price_minor": "0"}, "The price must be above zero."),
    ({"price_minor": "1.999"}, "A price in CNY has at most 2 decimals."),
    ({"quantity": "0"}, "Enter at least one unit."),
    ({"quantity": ""}, "Enter a quantity, or check “unlimited”."),
    ({"quantity": "5", "unlimited": "on"}, "Enter a quantity or check “unlimited”, not both."),
    ({"per_buyer_max": "0"}, "A buyer must be allowed at least one unit."),
]


def test_a_row_that_breaks_a_rule_is_refused_at_its_field_and_shown_as_it_was_typed(
    client: Client, product: Product
) -> None:
    for fields, sentence in REFUSED:
        response = client.post(ADD, filled_form(row_of(product, **fields)))
        assert errors_of_rows(response) == [{next(iter(fields)): [sentence]}], fields
        assert "99.01" not in fields.values() or 'value="99.01"' in response.content.decode()
    response = client.post(ADD, filled_form(row_of(product), row_of(product)))
    assert errors_of_rows(response) == [{}, {"variant": ["This product is already in the sale."]}]
    assert not Sale.objects.exists()


def test_a_saved_item_without_limit_has_its_switch_on(client: Client, product: Product) -> None:
    item = make_item(product, quantity=None, published=False)
    page = client.get(admin_page(item.sale))
    [form] = page.context["inline_admin_formsets"][0].formset.forms
    assert form["unlimited"].value() is True
    unchanged = row_of_saved(item, quantity="", unlimited="on")
    assert client.post(admin_page(item.sale), form_of(item.sale, unchanged)).status_code == 302


def test_a_new_sale_may_begin_when_another_of_the_product_ends_and_not_before(client: Client, product: Product) -> None:
    before = make_item(product, opens_in_seconds=24 * 3600 - 60, closes_in_seconds=25 * 3600)
    response = client.post(ADD, filled_form(row_of(product)))
    assert errors_of_rows(response) == [{"variant": [OVERLAP]}]
    assert Sale.objects.count() == 1
    Sale.objects.filter(pk=before.sale_id).update(opens_at=TOMORROW - timedelta(hours=1), closes_at=TOMORROW)
    assert client.post(ADD, filled_form(row_of(product))).status_code == 302


def test_moving_a_window_over_another_sale_is_refused_unless_the_item_is_removed(
    client: Client, product: Product
) -> None:
    make_item(product)
    later = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000, published=False)
    earlier = later.sale.opens_at - timedelta(hours=2)
    response = client.post(admin_page(later.sale), form_of(later.sale, row_of_saved(later), opens_at=earlier))
    assert errors_of_rows(response) == [{"variant": [OVERLAP]}]
    assert Sale.objects.get(pk=later.sale_id).opens_at == later.sale.opens_at
    removed = row_of_saved(later, DELETE="on")
    assert client.post(admin_page(later.sale), form_of(later.sale, removed, opens_at=earlier)).status_code == 302
    assert not SaleItem.objects.filter(pk=later.pk).exists()


def test_moving_a_window_away_from_another_sale_is_judged_by_the_new_window(client: Client, product: Product) -> None:
    make_item(product)
    overlapping = make_item(product, published=False)
    form = form_of(overlapping.sale, row_of_saved(overlapping), opens_at=TOMORROW, closes_at=TOMORROW + timedelta(1))
    assert client.post(admin_page(overlapping.sale), form).status_code == 302


def test_a_window_that_is_missing_is_refused_without_a_word_about_overlap(client: Client, product: Product) -> None:
    make_item(product)
    response = client.post(ADD, filled_form(row_of(product)) | {"opens_at_0": "", "opens_at_1": ""})
    assert errors_of_sale(response) == {"opens_at": ["This field is required."]}
    assert errors_of_rows(response) == [{}]
