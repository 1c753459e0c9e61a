"""Turns a typed text into a question to the search entries (shop/models/search_entry.py).

First exactly: every word must be there, with any ending. Only where that finds nothing, forgivingly: words that begin
so, words that a typo may have been meant to be (shop/search/spelling.py), Chinese with one character wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from django.contrib.postgres.search import CombinedSearchQuery, SearchQuery
from django.db.models import QuerySet

from shop.databases.replica import reading_alias
from shop.models.search_entry import SearchEntry, whole_lexeme
from shop.models.search_words import dictionaries, fold, pairs_of, quoted, runs_in, stop_words, words_in
from shop.search.spelling import meant_words

# A page's search field has as many. Pasted books are cut.
QUERY_CHARACTERS_MAX = 100
WORDS_MAX = 12
# Of a run of Chinese characters, so many are compared with one of them wrong.
RUN_CHARACTERS_MAX = 12
RUN_CHARACTERS_MIN = 3
# They make a noun of a character and say nothing by themselves.
NOUN_ENDINGS = "子儿"
# Shorter beginnings are those of too many words.
PREFIX_CHARACTERS_MIN = 3


class Lexemes(SearchQuery):
    """A tsquery in its own notation. No dictionary and no rule of the database's locale changes its words."""

    template = "%(expressions)s::tsquery"

    def __init__(self, notation: str) -> None:
        super().__init__(notation, search_type="raw")


# One question, or several combined.
Query = SearchQuery | CombinedSearchQuery


@dataclass(frozen=True, slots=True)
class Found:
    """The entries of products. `query` ranks them. `forgiven`: no product has the typed words, and these come close."""

    entries: "QuerySet[SearchEntry]"
    query: Query | None = None
    forgiven: bool = False


def search(entries: "QuerySet[SearchEntry]", typed: str) -> Iterator[Found]:
    """Those of the entries that have all that was typed; then, for where these are none, those that come close."""
    text = fold(typed.replace("\0", " ")[:QUERY_CHARACTERS_MAX])
    if exact := exact_query(text):
        yield Found(entries.filter(document=exact), exact)
        if close := close_query(text):
            yield Found(entries.filter(document=close), close, forgiven=True)


def exact_query(text: str) -> Query | None:
    """All words and all pairs of characters of a folded text; None if there are none."""
    parts = [word_query(word) for word in words_of(text)]
    for run in runs_in(text):
        parts.append(Lexemes(" & ".join(quoted(piece) for piece in pairs_of(run) or [run])))
    return reduce(and_, parts) | Lexemes(quoted(whole_lexeme(" ".join(text.split())))) if parts else None


def close_query(text: str) -> Query | None:
    """The same with forgiveness; None if nothing can be forgiven."""
    words, runs = words_of(text), runs_in(text)
    if words:
        small = stop_words(words, using=reading_alias())
        # Where nothing else was typed, words that begin so are better than none.
        words = [word for word in words if word not in small] or (words if not runs else [])
    parts = [forgiving_word_query(word, meant) for word, meant in meant_words(words).items()]
    parts += [Lexemes(forgiving_run(run)) for run in runs]
    return reduce(and_, parts) if parts else None


def words_of(text: str) -> list[str]:
    return list(dict.fromkeys(words_in(text)))[:WORDS_MAX]


def word_query(word: str) -> Query:
    """A word as any language of the shop would write it."""
    return reduce(or_, (SearchQuery(word, config=dictionary, search_type="plain") for dictionary in dictionaries()))


def forgiving_word_query(word: str, meant: list[str]) -> Query:
    query = reduce(or_, map(word_query, [word, *meant]))
    return query | Lexemes(f"{quoted(word)}:*") if len(word) >= PREFIX_CHARACTERS_MIN else query


def forgiving_run(run: str) -> str:
    """All characters in any order, of which one may be wrong; the notation of a tsquery. 锅子 is 锅."""
    run = run[:RUN_CHARACTERS_MAX]
    if len(run) == RUN_CHARACTERS_MIN - 1 and run[-1] in NOUN_ENDINGS:
        run = run[0]
    characters = [quoted(character) for character in run]
    if len(characters) < RUN_CHARACTERS_MIN:
        return " & ".join(characters)
    ways = [" & ".join(characters[:at] + characters[at + 1 :]) for at in range(len(characters))]
    return " | ".join(f"({way})" for way in ways)
