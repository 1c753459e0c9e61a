"""Which words of the catalogue a misspelt word may have been meant to be.

PostgreSQL finds words with some of the same groups of three letters (pg_trgm). Among these, those count that are a few
typos away: a letter wrong, missing, too many, or two in the wrong order.
"""

from collections.abc import Sequence

from django.contrib.postgres.search import TrigramSimilarity
from django.db import connections, transaction

from shop.databases.replica import reading_alias
from shop.models import SearchWord
from shop.models.search_entry import TYPO_CHARACTERS_MIN

# A transposition in a word of four letters leaves two of the eight groups that both words have together.
SIMILARITY_MIN = 0.2
# Longer words may have two typos.
TWO_TYPOS_CHARACTERS_MIN = 8
# Words that are looked at for one, the most similar first.
CANDIDATES_MAX = 100
# Words that are tried in the place of one.
MEANT_MAX = 4


def meant_words(words: list[str]) -> dict[str, list[str]]:
    """For each word those that may have been meant, the most similar first; none for one that is known or too short."""
    long_enough = [word for word in words if len(word) >= TYPO_CHARACTERS_MIN and not word.isdigit()]
    found: dict[str, list[str]] = {word: [] for word in words}
    if not long_enough:
        return found
    alias = reading_alias()
    with transaction.atomic(using=alias):
        with connections[alias].cursor() as cursor:
            # How similar words must be for the operator %, which the index answers.
            cursor.execute(f"SET LOCAL pg_trgm.similarity_threshold = {SIMILARITY_MIN}")
        for word in long_enough:
            similar = SearchWord.objects.using(alias).filter(word__trigram_similar=word)
            similar = similar.order_by(TrigramSimilarity("word", word).desc(), "word")
            found[word] = closest(word, list(similar.values_list("word", flat=True)[:CANDIDATES_MAX]))
    return found


def closest(word: str, candidates: Sequence[str]) -> list[str]:
    """The candidates that the fewest typos turn into `word`; none if `word` itself is among them."""
    if word in candidates:
        return []
    typos_max = 2 if len(word) >= TWO_TYPOS_CHARACTERS_MIN else 1
    distances = {
        candidate: typos_between(word, candidate)
        for candidate in candidates
        if abs(len(candidate) - len(word)) <= typos_max
    }
    least = min(distances.values(), default=typos_max + 1)
    if least > typos_max:
        return []
    return [candidate for candidate, typos in distances.items() if typos == least][:MEANT_MAX]


def typos_between(one: str, other: str) -> int:
    """How many letters must be changed, added, left out, or exchanged with their neighbour (OSA distance)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, letter_there in enumerate(other, 1):
            cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (letter != letter_there))
            is_exchanged = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == letter_there
            current.append(min(cost, before[column - 2] + 1) if is_exchanged else cost)
        before, last = last, current
    return last[-1]
