"""Answers that are made once and given to everybody who asks within some milliseconds."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Answer = tuple[int, list[tuple[str, str]], bytes]

# Their values differ between answers of one shape.
VALUES = {"Content-Length", "ETag", "Retry-After"}


@dataclass(frozen=True, slots=True)
class Shape:
    """An answer of a view without its body and without the values of some headers."""

    status: int
    headers: tuple[tuple[str, str], ...]


def shape_of(status: int, headers: Iterable[tuple[str, str]]) -> Shape:
    return Shape(status, tuple((name, "" if name in VALUES else value) for name, value in headers))


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body with its headers' values, to be given until `until_s`; and the whole answers, by shape."""

    until_s: float
    body: bytes
    values: dict[str, str]
    answers: dict[int, Answer] = field(default_factory=dict)

    def answer(self, shape: Shape, *, empty: bool = False) -> Answer:
        """The answer in this shape; `empty`: without the body. The same object each time, so leave it as it is."""
        # By identity, since hashing all headers takes longer: there is one object for each shape.
        answer = self.answers.get(id(shape))
        if answer is None:
            body = b"" if empty else self.body
            values = {**self.values, "Content-Length": str(len(body))}
            answer = shape.status, [(name, values.get(name, value)) for name, value in shape.headers], body
            self.answers[id(shape)] = answer
        return answer
