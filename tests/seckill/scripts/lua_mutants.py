"""Damages a Lua script in one place at a time, below its header.

Each damage is a mistake that somebody could make: a check forgotten or turned round, an edge off by one, a write left
out, a wrong key, field or word. Damages that no longer compile are left out by the caller.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(r"--[^\n]*|'(?:[^'\\]|\\.)*'|\d+|\w+|\.\.|[=~<>]=|\s+|.")

SWAPPED = {
    # A test of the edge fails for a comparison that is turned round, too.
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "~=",
    "~=": "==",
    "+": "-",
    "*": "/",
    "/": "*",
    "%": "*",
    "and": "or",
    "or": "and",
    "pcall": "call",
}
OPENING, CLOSING = set("({["), set(")}]")
# What ends an operand of `and` and `or`, to its left and to its right.
BEFORE_OPERAND = {"and", "or", "if", "return", "=", ","}
AFTER_OPERAND = {"and", "or", "then", ",", "return", "local", "end"}


@dataclass(frozen=True)
class Mutant:
    """One damaged script. `before` and `after` are the line that differs; `after` is empty where it was removed."""

    verb: str
    kind: str
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.verb}.lua, {self.kind}:\n    - {self.before}\n    + {self.after}"


def mutants_of(verb: str, source: str) -> Iterator[Mutant]:
    """Every damaged script that this module can think of, each only once."""
    start = source.index("assert(")
    header, body = source[:start], source[start:]
    seen = {source}
    for kind, damaged in [*damaged_conditions(body), *damaged_statements(body), *damaged_tokens(body)]:
        if header + damaged not in seen:
            seen.add(header + damaged)
            before, after = difference(body, damaged)
            yield Mutant(verb=verb, kind=kind, before=before, after=after, source=header + damaged)


def damaged_conditions(body: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"(?<=if )[^\n]*(?= then\n)", body):
        for value in ("false", "true"):
            yield f"a check that is always {value}", body[: match.start()] + value + body[match.end() :]


def damaged_statements(body: str) -> Iterator[tuple[str, str]]:
    """Each statement left out; and the first two writes, whose order is what a full store tests, exchanged."""
    statements = list(statements_of(body))
    for start, end in statements:
        yield "a statement removed", body[:start] + body[end:]
    writes = [bounds for bounds in statements if body[bounds[0] :].lstrip().startswith("redis.call(")]
    if len(writes) > 1 and writes[0][1] == writes[1][0]:
        (first, middle), (_, end) = writes[:2]
        yield (
            "the first two writes exchanged",
            body[:first] + body[middle:end] + body[first:middle] + body[end:],
        )


def statements_of(body: str) -> Iterator[tuple[int, int]]:
    """Where each statement starts and ends; one goes on over the lines until its brackets are closed."""
    position = start = depth = 0
    for line in body.splitlines(keepends=True):
        if depth == 0:
            start = position
        position += len(line)
        words = [token for token in TOKEN.findall(line) if not token.startswith(("--", "'"))]
        depth += sum((word in OPENING) - (word in CLOSING) for word in words)
        if depth == 0 and not re.match(r"\s*(--|if |end\b|$)", body[start:position]):
            yield start, position


def damaged_tokens(body: str) -> Iterator[tuple[str, str]]:
    tokens = TOKEN.findall(body)
    for index, token in enumerate(tokens):
        if other := SWAPPED.get(token):
            yield f"{token} for {other}", replaced(tokens, index, other)
        if token == "-":
            unary = last_word(tokens[:index]) in {"(", ",", "="}
            yield "a sign", replaced(tokens, index, "" if unary else "+")
        if token == "not":
            yield "a not removed", replaced(tokens, index, "")
        if token in ("and", "or"):
            yield "an operand removed", "".join(tokens[: left_operand(tokens, index)] + tokens[index + 2 :])
            yield "an operand removed", "".join(tokens[: index - 1] + tokens[right_operand(tokens, index) :])
        if token.isdigit():
            number = int(token)
            for wrong in (number + 1, number - 1) if number < 10 else (number * 2,):
                yield "a number", replaced(tokens, index, str(wrong))
        if token.startswith("'"):
            yield "a text", replaced(tokens, index, f"'x{token[1:]}")


def left_operand(tokens: list[str], index: int) -> int:
    """Where the operand before the operator at `index` starts."""
    depth, position = 0, index
    while position > 0:
        token = tokens[position - 1]
        depth += (token in CLOSING) - (token in OPENING)
        if depth < 0 or (depth == 0 and token in BEFORE_OPERAND):
            break
        position -= 1
    return position + 1 if tokens[position].isspace() else position


def right_operand(tokens: list[str], index: int) -> int:
    """Where the operand after the operator at `index` ends."""
    depth, position = 0, index + 1
    while position < len(tokens):
        token = tokens[position]
        depth += (token in OPENING) - (token in CLOSING)
        if depth < 0 or (depth == 0 and (token in AFTER_OPERAND or "\n" in token)):
            break
        position += 1
    return position - 1 if tokens[position - 1].isspace() else position


def last_word(tokens: list[str]) -> str:
    return next((token for token in reversed(tokens) if not token.isspace()), "")


def replaced(tokens: list[str], index: int, other: str) -> str:
    return "".join([*tokens[:index], other, *tokens[index + 1 :]])


def difference(body: str, damaged: str) -> tuple[str, str]:
    """The first line that differs, before and after."""
    before, after = body.splitlines(), damaged.splitlines()
    for old, new in zip(before, after, strict=False):
        if old != new:
            removed = len(after) < len(before)
            return old.strip(), "" if removed else new.strip()
    return before[-1].strip(), ""
