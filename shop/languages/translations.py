"""Compiles the translations (.po) into the form that Django reads (.mo). gettext need not be installed."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LOCALE = Path(__file__).parents[1] / "locale"


def compile_translations(*, locale: Path = LOCALE) -> None:
    """Compile each catalogue that has changed."""
    for source in locale.glob("*/LC_MESSAGES/*.po"):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        unfinished = target.with_suffix(".mo.new")
        with source.open("rb") as text, unfinished.open("wb") as binary:
            write_mo(binary, read_po(text))
        unfinished.replace(target)  # other processes read the old file or the new one, never half of it
