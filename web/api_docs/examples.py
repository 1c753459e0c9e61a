"""The calls of the API as /api/docs/ shows them: in the order of a purchase, with a short name and an example.

They are in examples.sh, which a test runs from top to bottom against a running shop. The view of a call says what it
does, the `problem_codes.py` of its app what refusals mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TEXT = Path(__file__).with_name("examples.sh").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class CallExample:
    """`operation_id` is the name of the call in clients that are generated from the OpenAPI file."""

    chapter: str
    method: str
    path: str
    operation_id: str
    summary: str
    example: str


def read_calls(text: str) -> Iterator[CallExample]:
    for part in text.split("\n### ")[1:]:
        chapter, *calls = part.split("\n## ")
        for call in calls:
            head, _, example = call.partition("\n")
            names, _, summary = head.partition(": ")
            method, path, operation_id = names.split()
            yield CallExample(chapter.strip(), method, path, operation_id, summary, example.strip())


PREPARATION = TEXT.split("\n\n")[1]
CALLS = list(read_calls(TEXT))
CHAPTERS = list(dict.fromkeys(call.chapter for call in CALLS))
BY_OPERATION = {(call.method, call.path): call for call in CALLS}
PLACES = {operation: place for place, operation in enumerate(BY_OPERATION)}


def place_of(endpoint: tuple[str, str, str, object]) -> tuple[int, str, str]:
    """drf-spectacular's setting SORT_OPERATIONS: the order above; other calls come last."""
    path, _regex, method, _view = endpoint
    # The OpenAPI file names a row's key `id`.
    return PLACES.get((method, path.replace("{pk}", "{id}")), len(PLACES)), path, method
