"""What buyers type, and what they must find: both languages, endings, typos, numbers, and hostile input."""

import pytest
from django.contrib.postgres.search import SearchRank
from django.db.models import F
from django.test import TestCase

from shop.demo.loading import load_goods
from shop.models import Category, Product, SearchEntry
from shop.search.query import QUERY_CHARACTERS_MAX, RUN_CHARACTERS_MAX, WORDS_MAX, forgiving_run, words_of
from tests.steps.shop import found_among

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _catalogue(rows_of_the_file: None) -> None:
    """The demo goods, without their pictures. The words for typos are written after the commit."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        load_goods()


def found(typed: str) -> list[str]:
    found = found_among(SearchEntry.objects.all(), typed)
    if found.query is None:
        return []
    rank = SearchRank(F("title"), found.query)
    return list(found.entries.order_by(rank.desc(), "product__slug").values_list("product__slug", flat=True))


MEANT = [
    # English: any capitals, any order, any ending, words of the category and of the options
    ("headphones", "headphones"),
    ("HEADPHONE", "headphones"),
    ("noise cancelled headphone", "headphones"),
    ("the desk lamps", "desk-lamp"),
    ("lamp for the desk", "desk-lamp"),
    ("keyboard quiet", "mechanical-keyboard"),
    ("stationery notebook", "notebook"),
    # Chinese: words, parts of words, single characters, words without the space that would be between others
    ("龙井", "longjing-tea"),
    ("明前龙井", "longjing-tea"),
    ("降噪耳机", "headphones"),
    ("耳机", "headphones"),
    ("台灯", "desk-lamp"),
    ("护眼 台灯", "desk-lamp"),
    ("台灯护眼", "desk-lamp"),
    ("机械键盘静音", "mechanical-keyboard"),
    ("毯", "wool-throw"),
    # Other words for the same, and a noun whose ending says nothing
    ("kettle", "yixing-teapot"),
    ("水壶", "yixing-teapot"),
    ("锅子", "cast-iron-wok"),
    ("绿茶", "longjing-tea"),
    # Both in one, full width, accents
    ("22 升双肩包", "day-pack"),
    ("ｈｅａｄｐｈｏｎｅｓ", "headphones"),
    ("notebøøk", "notebook"),
    ("nótebook", "notebook"),
    # One typo: a letter wrong, missing, too many, two exchanged
    ("headphobes", "headphones"),
    ("headhpones", "headphones"),
    ("headphons", "headphones"),
    ("keybaord", "mechanical-keyboard"),
    ("keyyboard", "mechanical-keyboard"),
    ("mecanical keyboard", "mechanical-keyboard"),
    ("lapm desk", "desk-lamp"),
    # A typo, with words that are in no entry
    ("lapm for the desk", "desk-lamp"),
    ("the headphobes with noise cancelling", "headphones"),
    ("with 降燥耳机", "headphones"),
    ("longjin", "longjing-tea"),
    ("wok", "cast-iron-wok"),
    ("龙景茶 明前", "longjing-tea"),
    ("降燥耳机", "headphones"),
    # The beginning of a word
    ("headph", "headphones"),
    ("mechan", "mechanical-keyboard"),
    # SKUs, whole and in part
    ("HEADPHONES-SAND", "headphones"),
    ("headphones-sand", "headphones"),
    ("VASE-24", "stoneware-vase"),
]

HOSTILE = [
    *("", " ", "'", '"', "''", "\\", "%", "_", "%%%", "&", "|", "!", ":*", "<->", "()", "((", "a & | b"),
    *("tea' OR 1=1 --", "\0", "tea\0pot", "\ud800", "\u202e", "🍵", "\t\n", "tea:*A", "'龙'", "龙'井"),
    *("=", "-", "--", "the", "a", "1", "0x"),
    *("x" * 10_000, "龙" * 10_000, "tea " * 3_000, "é" * 5_000, "'" * 10_000, "%" * 9_999, "Ａ\u0301" * 100),
    # Folded, one of them is eighteen letters, and six kana.
    *("\ufdfa" * 100, "\u3316" * 100),
]


def test_the_first_product_is_what_was_meant() -> None:
    assert [(typed, found(typed)[:1]) for typed, _first in MEANT] == [(typed, [first]) for typed, first in MEANT]


def test_a_product_that_the_shop_does_not_have_is_not_found() -> None:
    for typed in ("unicorn", "xqzw", "独角兽", "龘", "zzzz zzzz", "headphones unicorn", "9999999", "lo"):
        assert found(typed) == [], typed


def test_hostile_input_is_only_text() -> None:
    for typed in HOSTILE:
        assert isinstance(found(typed), list), typed[:20]
    # Texts that no field of a page would take are not read.
    assert found("headphones".ljust(QUERY_CHARACTERS_MAX) + " unicorn") == found("headphones")
    assert len(words_of(" ".join(map(str, range(100))))) == WORDS_MAX
    assert forgiving_run("龙" * 50).count("|") < RUN_CHARACTERS_MAX


def test_a_name_counts_more_than_a_category_and_that_more_than_a_description() -> None:
    tea = Category.objects.get(slug="tea")
    samovars = Category.objects.create(slug="samovars", name="Samovars", parent=tea)
    Product.objects.create(slug="by-description", name="Spoon", description="Goes with a samovar.")
    Product.objects.create(slug="by-category", name="Cup", category=samovars)
    Product.objects.create(slug="by-name", name="Samovar")
    assert found("samovar") == ["by-name", "by-category", "by-description"]


def test_only_what_was_asked_for_counts_as_exact() -> None:
    everything = SearchEntry.objects.all()
    assert not found_among(everything, "headphones").forgiven
    assert found_among(everything, "headphobes").forgiven
    # A search in a part of the catalogue finds nothing else.
    assert not found_among(SearchEntry.objects.filter(product__category__slug="bags"), "headphones").entries.exists()


def test_products_of_the_named_kind_come_before_those_that_only_mention_it() -> None:
    of_tea = set(Product.objects.filter(category__parent__slug="tea").values_list("slug", flat=True))
    for typed in ("茶", "tea"):
        slugs = found(typed)
        assert set(slugs[: len(of_tea)]) == of_tea, typed
        assert "soy-candle" in slugs, typed
