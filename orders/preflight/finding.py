"""What a look of the pre-flight finds. Its texts are written out in the language of each reader."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from django.utils.functional import lazy
from django.utils.timesince import timesince

from shop.languages.kept_texts import Text, filled, in_readers_language

chosen_text = lazy(in_readers_language, str)
time_since = lazy(timesince, str)


class Verdict(StrEnum):
    """LATER is what a shop on its own machine (`is_trial`) may leave for the day before real customers come."""

    GOOD = "good"
    WARNING = "warning"
    LATER = "later"
    STOP = "stop"


class Finding(NamedTuple):
    """What was found about one thing, and what to do about it; `todo` is empty if nothing."""

    verdict: Verdict
    text: Text
    todo: Text = ""


def good(text: Text, **values: Any) -> Finding:
    """As the other two: `values` fill the %(places)s of both texts."""
    return Finding(Verdict.GOOD, filled(text, **values))


def warning(text: Text, todo: Text, **values: Any) -> Finding:
    return Finding(Verdict.WARNING, filled(text, **values), filled(todo, **values))


def stop(text: Text, todo: Text, **values: Any) -> Finding:
    return Finding(Verdict.STOP, filled(text, **values), filled(todo, **values))


def listed(things: Iterable[object]) -> Text:
    """Their names, in the language of the reader."""
    kept = list(things)
    return lazy(lambda: ", ".join(str(thing) for thing in kept), str)()
