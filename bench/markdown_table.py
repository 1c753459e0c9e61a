"""A table of figures for a page of docs/results/."""

from collections.abc import Iterable, Sequence


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int) -> str:
    """A table in Markdown; all but the first columns are numbers, aligned to the right."""
    rule = ["---"] * text_columns + ["---:"] * (len(headings) - text_columns)
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *rows))
