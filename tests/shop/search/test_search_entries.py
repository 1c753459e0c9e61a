"""What can be searched follows what is saved, wherever it is saved from."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from shop.catalogue.listing import ProductFilter, ProductPage, find_page
from shop.models import Category, Product, SearchEntry, SearchWord, StockChange, Variant, write_entries
from shop.models.search_entry import DESCRIPTION_CHARACTERS_MAX
from shop.models.search_words import fold, pieces_of
from shop.search.spelling import MEANT_MAX, closest, meant_words, typos_between
from tests.steps.shop import found_among, goods, make_product, variant_of

pytestmark = pytest.mark.django_db


def found(typed: str) -> set[str]:
    return set(found_among(SearchEntry.objects.all(), typed).entries.values_list("product__slug", flat=True))


def set_chinese(row: Any, **texts: str) -> None:
    for field, text in texts.items():
        setattr(row, f"{field}_zh_hans", text)
    row.save()


def test_a_renamed_product_is_found_by_its_new_name_alone(product: Product) -> None:
    product.name = "Biluochun tea"
    set_chinese(product, name="碧螺春")
    assert found("biluochun") == found("碧螺春") == {"longjing"}
    assert not found("longjin")
    assert not found("龙井茶")


def test_a_renamed_or_moved_category_is_found_with_its_products(product: Product) -> None:
    category = Category.objects.get()
    category.name = "Hot drinks"
    set_chinese(category, name="热饮")
    assert found("hot drink") == found("热饮") == {"longjing"}
    category.parent = Category.objects.create(slug="food", name="Groceries", name_zh_hans="食品")
    category.save()
    assert found("groceries") == found("食品") == {"longjing"}
    category.parent.name = "Delicatessen"
    category.parent.save()
    assert found("delicatessen") == {"longjing"}
    assert not found("groceries")


def test_a_name_that_folding_makes_long_is_saved_and_found(product: Product) -> None:
    category = product.category
    assert category is not None
    category.name = "\ufdfa" * 100
    category.save()
    # Of a description that fills books, the beginning is.
    product.description = "tea ".ljust(DESCRIPTION_CHARACTERS_MAX) + " unicorn"
    product.save()
    assert not found("unicorn")
    assert found("\ufdfa") == {product.slug}


def test_a_new_variant_is_found_by_its_number_and_its_option(product: Product) -> None:
    Variant.objects.create(product=product, sku="LJ/250 (tin)", price_minor=100, options="Tin", options_zh_hans="罐装")
    assert found("lj/250 (TIN)") == found("tin") == found("罐装") == {"longjing"}


def test_an_entry_says_whether_the_product_can_be_seen(product: Product) -> None:
    assert SearchEntry.objects.get().is_visible
    variant = variant_of(product)
    variant.is_active = False
    variant.save()
    entry = SearchEntry.objects.get()
    assert (entry.is_visible, entry.lowest_minor) == (False, None)
    variant.is_active = True
    variant.save()
    product.is_active = False
    product.save()
    assert not SearchEntry.objects.get().is_visible


def test_a_small_word_alone_finds_the_names_that_have_it(product: Product) -> None:
    for slug, name in (("down-jacket", "Down jacket"), ("downpipe", "Downpipe"), ("office-lamp", "Office lamp")):
        Product.objects.create(slug=slug, name=name)
    assert found("down") == {"down-jacket"}
    assert found("jacket") == found("down jacket") == {"down-jacket"}
    # Where no name has it, those that begin so are better than none.
    assert found("off") == {"office-lamp"}


def test_a_deleted_variant_is_neither_found_nor_priced_nor_shown(product: Product) -> None:
    tin = Variant.objects.create(product=product, sku="TIN", price_minor=100, options="Tin")
    assert found("tin") == {"longjing"}
    tin.delete()
    assert not found("tin")
    assert SearchEntry.objects.get().lowest_minor == variant_of(product).price_minor
    StockChange.objects.all().delete()
    variant_of(product).delete()
    entry = SearchEntry.objects.get()
    assert (entry.is_visible, entry.lowest_minor) == (False, None)
    product.delete()
    assert not SearchEntry.objects.exists()


def test_the_command_repairs_what_was_changed_in_bulk(product: Product) -> None:
    Product.objects.update(name="Biluochun", name_en="Biluochun")
    assert found("longjing") == {"longjing"}
    SearchWord.objects.create(word="gone")
    call_command("update_search", verbosity=0)
    assert found("biluochun") == {"longjing"}
    assert not SearchWord.objects.filter(word="gone").exists()


def test_a_thousand_entries_are_written_with_few_queries() -> None:
    Product.objects.bulk_create(Product(slug=f"p{number}", name=f"Thing {number}") for number in range(1_000))
    with connection.execute_wrapper(counting := Counting()):
        assert write_entries(Product.objects.all()) == 1_000
    # Products and variants by 500; psycopg sends a batch of rows at once.
    assert counting.calls <= 12


class Counting:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, execute, sql, params, many, context):  # type: ignore[no-untyped-def]
        self.calls += 1
        return execute(sql, params, many, context)


def test_capitals_accents_and_full_width_letters_do_not_matter() -> None:
    assert [fold(text) for text in ("ＴＥＡ", "Crème", "Straße")] == ["tea", "creme", "strasse"]


def test_chinese_is_cut_into_single_characters_and_pairs() -> None:
    """By the shop: in the C locale, which `make run` has, PostgreSQL's pg_trgm sees no letters in it."""
    assert pieces_of("龙井茶") == ["龙", "井", "茶", "龙井", "井茶"]


def test_typos_are_counted() -> None:
    assert typos_between("lamp", "lamp") == 0
    for typed in ("lapm", "lam", "lampe", "ramp"):
        assert typos_between("lamp", typed) == typos_between(typed, "lamp") == 1, typed


def test_a_known_word_a_short_one_and_a_number_are_not_corrected() -> None:
    SearchWord.objects.bulk_create(SearchWord(word=word) for word in ("lamp", "lap", "250g"))
    assert meant_words(["lamq", "lamp", "la", "250"]) == {"lamq": ["lamp"], "lamp": [], "la": [], "250": []}
    assert len(closest("lam", [f"lam{letter}" for letter in "abcdefgh"])) == MEANT_MAX
    assert closest("lamp", ["lamp", "lamb"]) == []
    assert closest("lamq", ["lamp", "lamb", "stool"]) == ["lamp", "lamb"]
    assert closest("keybaort", ["keyboard"]) == ["keyboard"]
    assert closest("kett", ["keyboard"]) == []


def test_beyond_the_last_page_nothing_is_forgiven() -> None:
    goods("lamp")
    goods("lampshade")
    wanted = ProductFilter(typed="lamp")
    assert [product.slug for product in find_page(wanted, page=1, size=1).products] == ["lamp"]
    assert find_page(wanted, page=2, size=1) == ProductPage()


def test_the_number_of_queries_does_not_grow_with_the_catalogue(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(4):
        make_product(slug=f"tea-{number}", name=f"Tea {number}", price_minor=100)
    with django_assert_num_queries(2):
        assert len(found_among(SearchEntry.objects.all(), "tea").entries[:24]) == 4
