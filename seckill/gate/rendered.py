"""Answers in the shape of a view's answer. Some are made once and given to everybody who asks within milliseconds."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Answer = tuple[int, list[tuple[str, str]], bytes]

# Their values differ between answers of one shape.
VALUES = {"Content-Length", "ETag", "Location", "Retry-After"}


@dataclass(frozen=True, slots=True)
class Shape:
    """An answer of a view without its body and without the values of some headers."""

    status: int
    headers: tuple[tuple[str, str], ...]


def shape_of(status: int, headers: Iterable[tuple[str, str]]) -> Shape:
    return Shape(status, tuple((name, "" if name in VALUES else value) for name, value in headers))


def answer_of(shape: Shape, body: bytes, values: dict[str, str]) -> Answer:
    """The answer with this body, and with these values of headers besides the length."""
    values = {**values, "Content-Length": str(len(body))}
    return shape.status, [(name, values.get(name, value)) for name, value in shape.headers], body


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body with its headers' values, to be given until `until_s`; and the whole answers, by shape."""

    until_s: float
    body: bytes
    values: dict[str, str]
    # By the shape's identity, since hashing all headers takes longer. The shape is kept, so that it stays the only one.
    answers: dict[int, tuple[Shape, Answer]] = field(default_factory=dict)

    def answer(self, shape: Shape, *, empty: bool = False) -> Answer:
        """The answer in this shape; `empty`: without the body. The same object each time, so leave it as it is."""
        kept = self.answers.get(id(shape))
        if kept is None:
            kept = self.answers[id(shape)] = shape, answer_of(shape, b"" if empty else self.body, self.values)
        return kept[1]
