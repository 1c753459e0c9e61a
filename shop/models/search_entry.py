"""The search entry of each product, in all languages of the shop. Written here and nowhere else.

Product, variant and category call `write_entries` when they are saved, a variant also when it is deleted. Code that
changes rows by `update` or `bulk_create` calls it afterwards; `manage.py update_search` writes all entries.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import connections, models, transaction
from modeltranslation.utils import build_localized_fieldname

from shop.models.search_words import WORD_CHARACTERS_MAX, dictionaries, fold, lexemes, quoted, stop_words, words_in

# Products whose entries are written in one call of the database.
BATCH_SIZE = 500
# Of a description; the rest is not searched. PostgreSQL keeps at most a megabyte for a row.
DESCRIPTION_CHARACTERS_MAX = 20_000
# Of a whole SKU or name, after folding. PostgreSQL keeps at most 2 KB for a word.
WHOLE_CHARACTERS_MAX = 200
# Shorter words have too few letters to tell a typo from another word.
TYPO_CHARACTERS_MIN = 3


class SearchEntry(models.Model):
    """One product. A word in a name (weight A) counts more than one in a category or an option (B), and that more than
    one in the description (D)."""

    product = models.OneToOneField("shop.Product", models.CASCADE, primary_key=True, related_name="search_entry")
    # All words: what finds the product.
    document = SearchVectorField()
    # Those of weight A and B: what ranks it. Small, so that thousands can be ranked in milliseconds.
    title = SearchVectorField()
    # The product is shown and has a variant that can be bought: thousands are counted without looking at these.
    is_visible = models.BooleanField()
    # Of the variants that can be bought, the lowest price: thousands are sorted by it without reading variants.
    lowest_minor = models.PositiveBigIntegerField(null=True)

    class Meta:
        indexes = [GinIndex(fields=["document"], name="shop_searchentry_document", fastupdate=False)]

    def __str__(self) -> str:
        return str(self.product_id)


class SearchWord(models.Model):
    """A word in the name of some product, category or option, now or once: for telling what a misspelt word was meant
    to be. Each is kept once, so that even a large shop has few."""

    word = models.CharField(max_length=WORD_CHARACTERS_MAX, primary_key=True)

    class Meta:
        indexes = [GinIndex(fields=["word"], name="shop_searchword_trigrams", opclasses=["gin_trgm_ops"])]

    def __str__(self) -> str:
        return self.word


def write_entries(products: "models.QuerySet[Any]") -> int:
    """Write the entries of these products as they are now. Returns how many."""
    written, using = 0, products.db
    words: set[str] = set()
    whole = products.model._default_manager.using(using).select_related("category__parent__parent")
    ids = iter(products.order_by("pk").values_list("pk", flat=True))
    while batch := list(islice(ids, BATCH_SIZE)):
        with transaction.atomic(using=using, savepoint=False):
            # Lock first, then read: a writer that read before another one saved would otherwise write old words over
            # new ones.
            lock_entries(batch, using=using)
            rows = whole.filter(pk__in=batch).order_by("pk").prefetch_related("variants")
            small = stop_words({word for product in rows for word in words_in(names_of(product))}, using=using)
            entries = [entry_of(product, small) for product in rows]
            with connections[using].cursor() as cursor:
                cursor.executemany(statement(), [entry.parameters for entry in entries])
        written += len(entries)
        words.update(word for entry in entries for word in entry.words)
    # Not in this transaction, which may be long, and another one with the same new word would wait for it.
    transaction.on_commit(lambda: learn_words(words, using=using), using=using, robust=True)
    return written


def lock_entries(product_ids: Collection[int], *, using: str = "default") -> None:
    """Until the transaction ends, and in the order of their ids. Where variants are locked too, they come after: the
    writer of many entries takes long, and checkouts wait for variants."""
    entries = SearchEntry.objects.using(using).select_for_update(no_key=True).filter(pk__in=product_ids)
    list(entries.order_by("pk").values_list("pk", flat=True))


def learn_words(words: set[str], *, using: str) -> None:
    with connections[using].cursor() as cursor:
        # Sorted: two of these never wait for each other in a circle.
        sql = "INSERT INTO shop_searchword (word) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
        cursor.execute(sql, [sorted(words)])


@dataclass(frozen=True, slots=True)
class Entry:
    """`parameters` are those of the statement, `words` are for SearchWord."""

    parameters: list[Any]
    words: list[str]


def names_of(product: Any) -> str:
    return fold(" ".join(in_each_language(product, "name")))


def entry_of(product: Any, small: Collection[str]) -> Entry:
    """`small` are the stop words in its name, which no dictionary keeps: "down" alone still finds a down jacket."""
    categories = list(with_parents(product.category))
    variants = list(product.variants.all())
    skus = [fold(variant.sku) for variant in variants]
    names = fold(" ".join([*in_each_language(product, "name"), *skus]))
    kinds = [text for category in categories for text in in_each_language(category, "name")]
    more = [*kinds, product.search_words]
    more += [text for variant in variants for text in in_each_language(variant, "options")]
    others = fold(" ".join(more))
    description = fold(" ".join(in_each_language(product, "description"))[:DESCRIPTION_CHARACTERS_MAX])

    title: list[Any] = []
    for dictionary in dictionaries():
        title += [dictionary, " ".join(words_in(names)), dictionary, " ".join(words_in(others))]
    alone = [word for word in words_in(names_of(product)) if word in small]
    # Tea comes before what only smells of it: the whole name of a category counts as much as a word of a name.
    wholes = [f"{quoted(whole_lexeme(whole))}:1A" for whole in dict.fromkeys([*skus, *map(fold, kinds), *alone])]
    title.append(" ".join([*lexemes(names, weight="A"), *lexemes(others, weight="B"), *wholes]))
    rest: list[Any] = []
    for dictionary in dictionaries():
        rest += [dictionary, " ".join(words_in(description))]
    rest.append(" ".join(lexemes(description, weight="D")))
    is_visible = product.is_active and any(variant.is_active for variant in variants)
    words = [word for word in words_in(f"{names} {others}") if len(word) >= TYPO_CHARACTERS_MIN and not word.isdigit()]
    lowest_minor = min((variant.price_minor for variant in variants if variant.is_active), default=None)
    return Entry([product.pk, *title, *rest, *title, is_visible, lowest_minor], words)


def whole_lexeme(text: str) -> str:
    """A folded SKU or name of a category as a word of its own, so that it is found whole and not only by its parts."""
    return f"={text[:WHOLE_CHARACTERS_MAX]}"


def in_each_language(row: Any, field: str) -> Iterator[str]:
    for code, _name in settings.LANGUAGES:
        if text := getattr(row, build_localized_fieldname(field, code), None):
            yield text


def with_parents(category: Any) -> Iterable[Any]:
    while category is not None:
        yield category
        category = category.parent


def statement() -> str:
    count = len(dictionaries())
    words = "setweight(to_tsvector(%s::regconfig, %s), '{}')".format
    title = " || ".join([*[f"{words('A')} || {words('B')}"] * count, "%s::tsvector"])
    rest = " || ".join([*[words("D")] * count, "%s::tsvector"])
    return (
        "INSERT INTO shop_searchentry (product_id, document, title, is_visible, lowest_minor) "
        f"VALUES (%s, {title} || {rest}, {title}, %s, %s) "
        "ON CONFLICT (product_id) DO UPDATE SET document = excluded.document, title = excluded.title, "
        "is_visible = excluded.is_visible, lowest_minor = excluded.lowest_minor"
    )
