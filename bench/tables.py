"""Tables of figures: for the terminal, and for the pages of docs/results/."""

from collections.abc import Iterable, Sequence
from typing import IO, Any, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

# Of the tables, where the output goes to a file.
FILE_WIDTH = 140


def console_on(output: Any) -> Console:
    """For the output of a command. Where that is no terminal, lines are as long as tables want."""
    console = Console(file=cast(IO[str], output), highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    return console


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int) -> str:
    """A table in Markdown; all but the first columns are numbers, aligned to the right."""
    rule = ["---"] * text_columns + ["---:"] * (len(headings) - text_columns)
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *rows))


def terminal_table(title: str, *, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of words first, then of numbers, aligned to the right."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
