"""How texts are cut into what can be searched. The same is done to a query (shop/search/query.py).

Words of languages with spaces are left to PostgreSQL, which knows their endings. Chinese, Japanese and Korean have no
spaces, and PostgreSQL cannot cut them: each character and each pair of neighbours is a word of its own.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

from django.conf import settings
from django.db import connections

# PostgreSQL's names of the languages whose word endings it knows, by their codes in Django.
DICTIONARIES = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
# Ideographs, kana and hangul.
CJK = r"\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003134f"
RUN = re.compile(f"[{CJK}]+")
WORD = re.compile(rf"[^\W_{CJK}]+")
# No person types more, and a word of PostgreSQL has at most 2 KB.
WORD_CHARACTERS_MAX = 60


@lru_cache(maxsize=1)
def dictionaries() -> tuple[str, ...]:
    """Those of the shop's languages."""
    codes = [code.split("-")[0] for code, _name in settings.LANGUAGES]
    return tuple(dict.fromkeys(DICTIONARIES[code] for code in codes if code in DICTIONARIES))


def stop_words(words: Collection[str], *, using: str) -> set[str]:
    """Those of the folded words that every dictionary leaves out, as "with": no entry has them."""
    left_out = " AND ".join(["length(to_tsvector(%s::regconfig, word)) = 0"] * len(dictionaries()))
    with connections[using].cursor() as cursor:
        sql = f"SELECT word FROM unnest(%s::text[]) AS word WHERE {left_out}"
        cursor.execute(sql, [list(words), *dictionaries()])
        return {word for (word,) in cursor.fetchall()}


def fold(text: str) -> str:
    """Without what does not matter to a search: capitals, accents, full-width letters."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKC", "".join(c for c in decomposed if not unicodedata.combining(c)))


def words_in(text: str) -> list[str]:
    """The words of a folded text that are written with spaces, also digits."""
    return [word[:WORD_CHARACTERS_MAX] for word in WORD.findall(text)]


def runs_in(text: str) -> list[str]:
    """The parts of a folded text that are written without spaces."""
    return RUN.findall(text)


def pieces_of(run: str) -> list[str]:
    """Each character and each pair: 龙井茶 → 龙, 井, 茶, 龙井, 井茶."""
    return [*run, *pairs_of(run)]


def pairs_of(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def lexemes(text: str, *, weight: str) -> list[str]:
    """The pieces of a folded text in the notation of a tsvector, with a weight of A to D."""
    pieces: Iterable[str] = dict.fromkeys(piece for run in runs_in(text) for piece in pieces_of(run))
    return [f"{quoted(piece)}:1{weight}" for piece in pieces]


def quoted(word: str) -> str:
    """A word in the notation of a tsvector or a tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
