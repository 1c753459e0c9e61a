"""Compiles the translations (.po) into the form that Django reads (.mo). gettext need not be installed."""

import os
from collections.abc import Iterator
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LOCALE = Path(__file__).parents[1] / "locale"


def compile_translations(*, locale: Path | None = None) -> None:
    """Compile each catalogue that has changed: those of the shop, or of another folder."""
    for source in not_compiled(locale=locale):
        target = source.with_suffix(".mo")
        # Another process, such as a test run beside `make run`, may do the same at this moment.
        unfinished = source.with_suffix(f".{os.getpid()}.mo")
        with source.open("rb") as text, unfinished.open("wb") as binary:
            write_mo(binary, read_po(text))
        unfinished.replace(target)  # other processes read the old file or the new one, never half of it


def not_compiled(*, locale: Path | None = None) -> Iterator[Path]:
    """The catalogues that have changed since they were compiled, or never were."""
    for source in (locale or LOCALE).glob("*/LC_MESSAGES/*.po"):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            yield source
