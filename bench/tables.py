"""Tables of figures, for the terminal and for the pages of docs/results/, and the progress until they are there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
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


@contextmanager
def ticking(first: str, *, total: int) -> Iterator[Callable[[str], None]]:
    """A bar for the length of a `with`. The function that it gives is called before each step, with what it is."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(first, total=total)
        yield lambda text: progress.update(task, advance=1, description=text)
