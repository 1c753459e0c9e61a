"""The pages of the catalogue: what they show, how lists are filtered, sorted and cut into pages."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings as shop_settings
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from seckill.models import Sale, SaleItem
from shop.catalogue.pages import PAGE_SIZE, Pages
from shop.models import Category, Product, Variant
from tests.steps.shop import add_picture, make_item, make_product, variant_of

pytestmark = pytest.mark.django_db


def page(client: Client, address: str, *, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer
    return answer.content.decode()


def names_in(text: str) -> list[str]:
    """The products of a list, in the order in which they are shown."""
    return [unescape(name) for name in re.findall(r'class="product-name"><a href="[^"]+">([^<]*)</a>', text)]


@pytest.fixture
def cups(db: None) -> Category:
    """A category below another, with three products."""
    teaware = Category.objects.create(slug="teaware", name="Teaware", name_zh_hans="茶具")
    cups = Category.objects.create(slug="cups", name="Cups", name_zh_hans="茶杯", parent=teaware)
    make_product(slug="b", name="Blue cup", name_zh_hans="蓝杯", price_minor=2000, category=cups)
    make_product(slug="a", name="Amber cup", name_zh_hans="琥珀杯", price_minor=1000, category=cups)
    make_product(slug="c", name="Clear cup", name_zh_hans="透明杯", price_minor=3000, category=cups, units=0)
    return cups


def test_a_product_is_shown_with_its_price_stock_and_way_back(client: Client, cups: Category) -> None:
    text = page(client, "/products/b/")
    assert "<h1" in text
    assert "CN¥20.00" in text
    assert "In stock" in text
    trail = re.findall(r'<li><a href="([^"]+)">', text[text.index("breadcrumbs") : text.index("</ol>")])
    assert trail == ["/products/", "/categories/teaware/", "/categories/cups/"]
    chinese = page(client, "/zh-hans/products/b/")
    assert "蓝杯" in chinese
    assert "¥20.00" in chinese
    assert "/zh-hans/categories/cups/" in chinese


def test_each_choice_names_the_picture_that_shows_its_option(
    client: Client, cups: Category, tmp_path: Path, settings: Settings
) -> None:
    settings.MEDIA_ROOT = tmp_path
    product = Product.objects.get(slug="b")
    Variant.objects.create(product=product, sku="RED", options="Red / M", options_zh_hans="红色 / M", price_minor=2000)
    for position, option in enumerate(("", "红色", "red")):
        add_picture(product, option=option, position=position)
    for prefix in ("", "/zh-hans"):
        choices = re.findall(r'<input type="radio" name="sku"[^>]*>', page(client, f"{prefix}/products/b/"))
        assert [re.findall(r'data-picture="([^"]*)"', choice) for choice in choices] == [[], ["picture-2"]]


def test_variants_are_choices_with_their_own_price_and_stock(client: Client, cups: Category) -> None:
    product = Product.objects.get(slug="b")
    product.option_names = "Size"
    product.save()
    first = variant_of(product)
    first.options = "Small"
    first.save()
    Variant.objects.create(product=product, sku="LARGE", options="Large", price_minor=5000, position=1)
    Variant.objects.create(product=product, sku="HIDDEN", options="Huge", price_minor=1, position=2, is_active=False)
    text = page(client, "/products/b/")
    assert "<legend>Size</legend>" in text
    assert "from CN¥20.00" in text
    inputs = re.findall(r'<input type="radio" name="sku" value="([^"]+)"([^>]*)>', text)
    assert [(sku, state.split()[0]) for sku, state in inputs] == [("SKU-b", "checked"), ("LARGE", "disabled")]
    assert 'data-price="CN¥50.00" data-stock="Sold out" data-availability="sold_out"' in inputs[1][1]
    assert "CN¥50.00" in text
    assert "HIDDEN" not in text


def test_a_product_that_is_hidden_or_cannot_be_bought_has_no_page(client: Client, cups: Category) -> None:
    page(client, "/products/none/", status=404)
    product = Product.objects.get(slug="b")
    product.is_active = False
    product.save()
    page(client, "/products/b/", status=404)
    Variant.objects.filter(product__slug="a").update(is_active=False)
    page(client, "/products/a/", status=404)
    assert names_in(page(client, "/products/")) == ["Clear cup"]


def test_a_category_has_the_products_of_those_below_it(client: Client, cups: Category) -> None:
    make_product(slug="other", name="Lamp", price_minor=1)
    for slug in ("cups", "teaware"):
        assert names_in(page(client, f"/categories/{slug}/")) == ["Clear cup", "Amber cup", "Blue cup"]
    page(client, "/categories/none/", status=404)
    empty = Category.objects.create(slug="empty", name="Empty")
    assert "There is nothing here yet" in page(client, empty.get_absolute_url())


FOUND = {
    "sort=price": ["Amber cup", "Blue cup", "Clear cup"],
    "sort=-price": ["Clear cup", "Blue cup", "Amber cup"],
    "sort=name": ["Amber cup", "Blue cup", "Clear cup"],
    "sort=newest": ["Clear cup", "Amber cup", "Blue cup"],
    "available=on": ["Amber cup", "Blue cup"],
    "min_price=15&max_price=25.5&sort=price": ["Blue cup"],
    "min_price=40": [],
    # What cannot be read is left out, and the page says why.
    "min_price=abc": ["Clear cup", "Amber cup", "Blue cup"],
    "min_price=-1&max_price=1e99&sort=up": ["Clear cup", "Amber cup", "Blue cup"],
    "min_price=NaN&max_price=0.001": ["Clear cup", "Amber cup", "Blue cup"],
}


def test_a_list_is_filtered_and_sorted(client: Client, cups: Category) -> None:
    for query, names in FOUND.items():
        found = names_in(page(client, f"/categories/cups/?{query}"))
        assert (found if "sort" in query else sorted(found)) == (names if "sort" in query else sorted(names)), query


def test_a_product_without_a_name_in_a_language_is_sorted_by_the_name_that_is_shown(client: Client) -> None:
    names = (("Cup", "Aa"), ("Bowl", ""), ("Ant", None), ("Dish", "Zz"))
    for number, (name, second) in enumerate(names):
        make_product(slug=f"p{number}", name_en=name, name_zh_hans=second, price_minor=100)
    assert names_in(page(client, "/zh-hans/products/?sort=name")) == ["Aa", "Ant", "Bowl", "Zz"]
    assert names_in(page(client, "/products/?sort=name")) == ["Ant", "Bowl", "Cup", "Dish"]


def test_a_list_has_pages_that_keep_the_filters(client: Client) -> None:
    for number in range(PAGE_SIZE + 1):
        make_product(slug=f"p{number}", name=f"Lamp {number:02}", price_minor=100 + number)
    first = page(client, "/products/?sort=price&available=on")
    assert len(names_in(first)) == PAGE_SIZE
    assert f"{PAGE_SIZE + 1} products" in first
    assert "?sort=price&amp;available=on&amp;page=2" in first
    last = page(client, "/products/?sort=price&page=2")
    assert names_in(last) == [f"Lamp {PAGE_SIZE:02}"]
    for wrong in ("3", "0", "-1", "x", "99999", "１"):
        page(client, f"/products/?page={wrong}", status=404)


def test_the_numbers_of_pages_have_gaps() -> None:
    assert Pages(1, 1).numbers == [1]
    assert Pages(1, 4).numbers == [1, 2, 3, 4]
    assert Pages(10, 20).numbers == [1, None, 8, 9, 10, 11, 12, None, 20]


def test_the_search_says_what_it_found(client: Client, cups: Category) -> None:
    assert names_in(page(client, "/search/?q=amber")) == ["Amber cup"]
    assert names_in(page(client, "/zh-hans/search/?q=琥珀")) == ["琥珀杯"]
    assert "We found nothing for “&lt;zzz&gt;”" in page(client, "/search/?q=<zzz>")
    assert "What are you looking for?" in page(client, "/search/?q=+")
    assert "What are you looking for?" in page(client, "/search/")
    assert names_in(page(client, f"/search/?q={'cup ' * 5_000}")) == ["Clear cup", "Amber cup", "Blue cup"]
    for hostile in ("%00", "%27", "%25", "%FF", "%ED%A0%80", "%F0%9F%8D%B5", "%5C", "q&q=1", "'; DROP TABLE"):
        page(client, f"/search/?q={hostile}")


def test_a_network_that_searches_too_often_is_told_to_wait(product: Product, settings: Settings) -> None:
    settings.SEARCH_LIMIT = "3/minute"
    client = Client(REMOTE_ADDR="203.0.113.7")
    searches = ("/search/?q=longjing", "/products/?available=on", "/zh-hans/search/?q=tea")
    assert [client.get(path).status_code for path in searches] == [200] * 3
    refused = client.get(searches[0])
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 60
    assert "Please wait" in refused.text
    answer = client.get("/api/v1/products/?search=longjing")
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_attempts")
    # Other networks, and lists without a query, are not concerned.
    assert client.get("/products/").status_code == client.get("/search/").status_code == 200
    assert Client(REMOTE_ADDR="203.0.113.8").get(searches[0]).status_code == 200


def test_a_product_in_a_sale_says_so(client: Client, product: Product) -> None:
    item = make_item(product, opens_in_seconds=3600, closes_in_seconds=7200)
    text = page(client, "/products/longjing/")
    assert f'href="/sales/{item.sale_id}/#item-{item.pk}"' in text
    assert "CN¥19.00" in text
    assert "opens in" in text
    item.sale.delete()
    make_item(product)
    now = timezone.now()
    assert "Open now" in page(client, "/products/longjing/")
    # Neither a draft, nor one that only people with the link know, nor one that is over
    published = Sale.objects.get().published_at
    Sale.objects.update(published_at=None)
    assert "Spring sale" not in page(client, "/products/longjing/")
    Sale.objects.update(published_at=published, listed=False)
    assert "Spring sale" not in page(client, "/products/longjing/")
    Sale.objects.update(listed=True, closes_at=now)
    assert "Spring sale" not in page(client, "/products/longjing/")
    assert SaleItem.objects.count() == 1


def test_search_engines_get_the_product_as_data(client: Client, product: Product) -> None:
    product.description = "</script><b>"
    product.save()
    text = page(client, "/products/longjing/")
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    data = json.loads(block)
    assert data["name"] == "Longjing tea"
    assert data["description"] == "</script><b>"
    (offer,) = data["offers"]
    assert (offer["price"], offer["priceCurrency"], offer["availability"]) == ("99.00", "CNY", "InStock")


def properties(text: str) -> dict[str, str]:
    """Of a page that is shared."""
    return dict(re.findall(r'<meta property="([^"]+)" content="([^"]*)">', text))


def test_pages_have_the_name_of_the_shop(client: Client, product: Product, settings: Settings) -> None:
    settings.SHOP_NAME = "Tea & Co"
    for path in ("/zh-hans/products/longjing/", "/zh-hans/accounts/login/", "/zh-hans/nowhere/"):
        text = client.get(path).content.decode()
        assert re.search(r"<title>[^<]+ · Tea &amp; Co</title>", text), path
        assert "<span>Tea &amp; Co</span>" in text
        assert "Stampede" not in text, path
    assert properties(page(client, "/products/longjing/"))["og:site_name"] == "Tea &amp; Co"


def test_a_shared_page_says_what_it_is(client: Client, product: Product) -> None:
    path = "/zh-hans/products/longjing/"
    shared = properties(page(client, path))
    assert (shared["og:type"], shared["og:title"]) == ("product", "龙井茶")
    assert shared["og:url"] == f"{shop_settings.SHOP_URL}{path}"
    sale = properties(page(client, f"/sales/{make_item(product).sale_id}/"))
    assert (sale["og:title"], sale["og:description"]) == ("Spring sale", "Longjing tea CN¥19.00")


def test_the_home_page_shows_products_below_the_sales(client: Client, product: Product) -> None:
    make_item(product)
    text = page(client, "/")
    assert text.index("Spring sale") < text.index("From the shop")
    assert names_in(text) == ["Longjing tea"]


def test_a_page_of_the_catalogue_is_for_everybody(client: Client, cups: Category) -> None:
    for address in ("/products/b/", "/categories/cups/", "/products/", "/search/?q=cup"):
        answer = client.get(address)
        assert answer["Cache-Control"] == "public, max-age=1", address
        assert not answer.cookies, address
        assert answer["Vary"] == "Accept-Encoding", address
        assert client.get(address, headers={"if-none-match": answer["ETag"]}).status_code == 304, address
        assert client.post(address).status_code == 405, address


def test_the_number_of_queries_is_constant(
    client: Client, cups: Category, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    addresses = {
        "/products/b/": 5,
        "/categories/cups/": 6,
        "/products/?sort=price&available=on": 6,
        "/search/?q=cup": 6,
    }
    for size in (3, 6):
        for number in range(Product.objects.count(), size):
            product = make_product(slug=f"p{number}", name=f"Cup {number}", price_minor=1, category=cups)
            Variant.objects.create(product=product, sku=f"second-{number}", price_minor=2)
        for address, queries in addresses.items():
            with django_assert_num_queries(queries):
                page(client, address)
